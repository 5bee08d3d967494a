# Writes trec_eval.json: what pytrec_eval says of a random run. The run itself is drawn again by the test.
# pip install pytrec-eval-terrier==0.5.11; python trec_eval.py > trec_eval.json
import json
import pytrec_eval

state = 7


def draw(n):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) % n


qrels, run = {}, {}
for q in range(40):
    relevant = draw(9)  # some queries have only documents of grade 0
    qrels[f"q{q}"] = {f"d{draw(200)}": draw(4) if i < relevant else 0 for i in range(9)}
    depth = [0, 3, 12, 180][draw(4)]  # a depth of 0: the query is missing from the run
    if depth:
        run[f"q{q}"] = {f"d{draw(200)}": draw(12) / 8 for _ in range(depth)}  # few scores: many ties

measures = {f"{m}.{k}" for m in ("ndcg_cut", "recall") for k in (1, 5, 10, 100)} | {"recip_rank", "map"}
result = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
print(json.dumps(result, indent=0, sort_keys=True))
