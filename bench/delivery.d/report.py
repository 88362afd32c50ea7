"""Results: a table for people, an object for machines."""

import json


class Report:
    def __init__(self):
        self.results = []

    def add(self, subject, metric, value, bar=None, **more):
        """`bar` is what must hold of lull: (">=", 20000). Then the result says whether it does."""
        entry = {"subject": subject, "metric": metric, "value": float(f"{value:.6g}"), **more}
        if bar is not None:
            relation, limit = bar
            entry["bar"] = f"{relation} {limit:g}"
            entry["met"] = value >= limit if relation == ">=" else value <= limit
        self.results.append(entry)

    def skip(self, subject, why, **more):
        self.results.append({"subject": subject, **more, "skipped": why})

    def json(self):
        return json.dumps({"bench": "delivery", "results": self.results})

    def table(self):
        lines = [f"{'metric':<46} {'subject':<16} {'value':>12}  bar"]
        for entry in self.results:
            if "skipped" in entry:
                lines.append(f"{entry.get('metric', ''):<46} {entry['subject']:<16} {'skipped':>12}  {entry['skipped']}")
                continue
            bar = ""
            if "bar" in entry:
                bar = f"{entry['bar']} {'met' if entry['met'] else 'MISSED'}"
            metric = entry["metric"] + (f" of {entry['process']}" if "process" in entry else "")
            lines.append(f"{metric:<46} {entry['subject']:<16} {entry['value']:>12,.6g}  {bar}")
        return "\n".join(lines)
