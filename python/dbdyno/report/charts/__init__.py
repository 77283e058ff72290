"""The charts of the HTML report, drawn to SVG without a network and readable without a script."""

from dbdyno.report.charts.answer import answer_chart
from dbdyno.report.charts.breakdown import breakdown_chart
from dbdyno.report.charts.figure import Figure
from dbdyno.report.charts.growth_chart import growth_charts
from dbdyno.report.charts.latency import latency_charts
from dbdyno.report.charts.scalability_chart import scalability_charts
from dbdyno.report.charts.slo import slo_chart
from dbdyno.report.charts.throughput import published_chart, throughput_chart
from dbdyno.report.charts.timeline import timeline_charts
from dbdyno.report.charts.times import times_chart
from dbdyno.report.charts.why_chart import why_chart

__all__ = [
    "Figure",
    "answer_chart",
    "breakdown_chart",
    "growth_charts",
    "latency_charts",
    "published_chart",
    "scalability_charts",
    "slo_chart",
    "throughput_chart",
    "timeline_charts",
    "times_chart",
    "why_chart",
]
