"""The BERTopic side of `retreever-bench topics`: one request a line on standard input, one answer a line back.

Documents come as words that are joined by spaces, so that both sides count the same words.
"""
import json
import sys
import time

import bertopic
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer


def model(count):
    # Everything else is BERTopic's default. "multilingual" keeps it from cutting letters beyond ASCII out of words.
    words = CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False)
    # The documents without a topic count as one.
    reduced = None if count is None else count + 1
    return bertopic.BERTopic(language="multilingual", nr_topics=reduced, vectorizer_model=words)


def fit(embeddings, documents, count):
    rows = np.load(embeddings)
    with open(documents) as file:
        texts = json.load(file)
    # Compiled on the first documents, which does not count.
    model(None).fit_transform(texts[:1000], embeddings=rows[:1000])
    start = time.perf_counter()
    fitted = model(count)
    topics, _ = fitted.fit_transform(texts, embeddings=rows)
    seconds = time.perf_counter() - start
    words = [[word for word, _ in fitted.get_topic(topic) if word] for topic in range(max(topics) + 1)]
    version = bertopic.__version__
    return {"seconds": seconds, "topics": [int(topic) for topic in topics], "words": words, "version": version}


for line in sys.stdin:
    [(name, arguments)] = json.loads(line).items()
    print(json.dumps({"fit": fit}[name](**arguments)), flush=True)
