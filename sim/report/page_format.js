"use strict";

/* Figures as people read them; the terminal's table (figures.c) writes them the same way. */

const NOTHING = "–";

// Before a unit: a space at which no line is broken.
const SPACE = "\u00a0";

function formatCount(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function formatLatency(ms) {
  if (ms <= 0) return NOTHING; // there was no success to measure
  if (ms < 9.95) return ms.toFixed(1) + SPACE + "ms";
  if (ms < 999.5) return ms.toFixed(0) + SPACE + "ms";
  if (ms < 99950) return (ms / 1e3).toFixed(1) + SPACE + "s";
  return (ms / 6e4).toFixed(1) + SPACE + "min";
}

// Rounded down: 100 % is all of them, without exception.
function formatShare(share) {
  return (Math.floor(share * 1e3 + 1e-9) / 10).toFixed(1) + SPACE + "%";
}

function formatRatio(ratio) {
  return ratio < 9.995 ? ratio.toFixed(2) : ratio.toFixed(1);
}

function formatTime(seconds) {
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
  if (whole < 120) return whole + SPACE + "s";
  if (minutes < 120 && whole % 60) return minutes + SPACE + "min " + (whole % 60) + SPACE + "s";
  if (minutes < 120) return minutes + SPACE + "min";
  return hours + SPACE + "h" + (minutes % 60 ? " " + (minutes % 60) + SPACE + "min" : "");
}

// For an axis, where there is little room: 9.5k, 12k, 1.2M.
function formatShort(value) {
  const scales = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [unit, letter] of scales)
    if (value >= unit) return Number((value / unit).toPrecision(3)) + letter;
  return String(Number(value.toPrecision(3)));
}

// For the time axis: whole minutes or hours where the ticks are, else 1:30.
function formatTick(seconds, step) {
  if (seconds === 0) return "0";
  if (step % 3600 === 0) return seconds / 3600 + SPACE + "h";
  if (step % 60 === 0) return seconds / 60 + SPACE + "min";
  if (seconds < 120) return seconds + SPACE + "s";
  return Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
}

const FAULTS = {
  refuse: () => "refuses calls",
  hang: (fault) => fault.share < 1 ? "leaves " + formatPercent(fault.share) + " of calls unanswered" : "leaves calls unanswered",
  error: (fault) => fault.share < 1 ? "fails " + formatPercent(fault.share) + " of calls" : "fails all calls",
  slow: (fault) => "is " + fault.factor + SPACE + "× as slow",
  capacity: (fault) => "has " + formatPercent(fault.factor) + " of its capacity",
};

function formatPercent(share) {
  return Number((share * 100).toPrecision(3)) + SPACE + "%";
}

function describeFault(fault) {
  return (FAULTS[fault.kind] || (() => "is in trouble"))(fault);
}
