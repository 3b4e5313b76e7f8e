"""Labels that are probably wrong, in plain Python: sort all offers, count votes, compare."""

import math

from tests.oracles import votes as plain


def judge(offers, labels, own, known, rules):
    """Return the winner, the votes' probabilities and the voters of one example.

    ``offers`` are (offer, cost, index) of the others in order, ``labels`` the labels of all.
    """
    best = offers[: rules.voters]
    names = [labels[v] for _, _, v in best]
    offers = [offer for offer, _, _ in best]
    _, counted = plain.count(offers, names, rules.exponent, rules.floor, rules.class_weights)
    p = plain.probabilities(counted, rules.smoothing, known)
    return plain.winner(counted), p, [v for _, _, v in best]


def find_issues(judged, own):
    """Return the threshold, and (index, suggested, p, p of the given label, voters) in order.

    ``judged`` has the result of ``judge`` by index.
    """
    given = {i: p.get(own[i], 0.0) for i, (_, p, _) in judged.items()}
    wrong = 1 - math.fsum(given.values()) / max(1, len(given))
    found = [
        (i, winner, p[winner], given[i], voters)
        for i, (winner, p, voters) in judged.items()
        if winner != own[i] and (given[i] <= wrong or list(own).count(own[i]) == 1)
    ]
    return wrong, given, sorted(found, key=lambda issue: (-issue[2], issue[0]))
