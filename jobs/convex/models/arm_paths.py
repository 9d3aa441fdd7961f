#!/usr/bin/env python3
"""Tables of joint positions for arm7.urdf: its hand points down and follows waypoints.

Run without arguments, it writes tear_left.csv, tear_right.csv, roll_left.csv and roll_right.csv into its own folder, for the jobs dough_tearing and
dough_rolling. Lengths in m, times in s, angles in rad.

Between waypoints the tips of the fingers move along straight lines with constant velocity. Seven joints have several solutions for one position of
the hand. Here both roll joints of the arm stay at 0, and the others follow in closed form: the yaw rotates the arm into the vertical plane of the
hand, shoulder and elbow position the wrist (two links in a plane, elbow up), the pitch directs the hand downwards, and the last joint rotates it.
Joint positions are interpolated linearly between rows: with rows every 0.05 s the hand deviates by at most 0.3 mm from the line."""
from math import acos, atan2, cos, hypot, pi, radians, sin
from pathlib import Path

SHOULDER, UPPER, FORE, HAND = 0.34, 0.4, 0.4, 0.24  # height of the shoulder, lengths of the links, wrist to tips
HALF_OPEN = 0.08                                    # distance of an open finger from the middle
STEP = 0.05                                         # time between rows of a table
JOINTS = "yaw", "shoulder", "upper_roll", "elbow", "fore_roll", "pitch", "roll", "left_finger"


def joints(base, place, turn, half):
    """Joint positions of an arm at base (x, y, yaw) whose finger tips are at place (x, y, z). They close along the direction at angle turn; each is at distance half from place."""
    x, y, z = place[0] - base[0], place[1] - base[1], place[2] + HAND - SHOULDER
    yaw, r = atan2(y, x), hypot(x, y)
    elbow = acos((r * r + z * z - UPPER**2 - FORE**2) / (2 * UPPER * FORE))
    shoulder = atan2(r, z) - atan2(FORE * sin(elbow), UPPER + FORE * cos(elbow))
    turned = (yaw - turn) % pi - pi / 2  # the fingers are equal: a rotation by pi has no effect
    return (yaw - base[2] + pi) % (2 * pi) - pi, shoulder, 0.0, elbow, 0.0, pi - shoulder - elbow, turned, HALF_OPEN - half


def between(waypoints, t):
    """Waypoints are (time, values ...): the values at t."""
    for a, b in zip(waypoints, waypoints[1:]):
        if t <= b[0] + 1e-9:
            s = (t - a[0]) / (b[0] - a[0])
            return [p + s * (q - p) for p, q in zip(a[1:], b[1:])]
    return waypoints[-1][1:]


def write(name, base, way, end):
    """way(t): place, turn, half."""
    rows = ["t," + ",".join(JOINTS)]
    for i in range(round(end / STEP) + 1):
        q = joints(base, *way(i * STEP))
        rows.append(",".join([f"{i * STEP:g}"] + [f"{a:.6g}" for a in q]))
    Path(__file__).with_name(name).write_text("\n".join(rows) + "\n")


def tear(side):
    """Path of one hand: both arms rise, descend, close on the dough, lift it, pull apart, lower the pieces and release them. side: -1 or 1, along y."""
    waypoints = [  # t, up, apart, half
        (0.0, 0.0, 0.0, 0.08), (0.2, 0.12, 0.0, 0.08), (0.3, 0.12, 0.0, 0.08), (0.5, 0.0, 0.0, 0.08),
        (0.8, 0.0, 0.0, 0.032), (1.2, 0.12, 0.0, 0.032), (1.3, 0.12, 0.0, 0.032), (1.9, 0.12, 0.15, 0.032),
        (2.1, 0.04, 0.15, 0.032), (2.4, 0.04, 0.15, 0.032), (2.7, 0.04, 0.15, 0.08), (2.9, 0.16, 0.15, 0.08)]

    def way(t):
        up, apart, half = between(waypoints, t)
        return (0.555, 0.29 + side * (0.1 + apart), 0.012 + up), 0.0, half

    return way


def roll(side):
    """Path of one hand, 0.22 m from the middle of the pin: down and back, up and forward, rotate, down and forward, up and back, deeper and back."""
    dx, dy = cos(radians(30)), sin(radians(30))
    waypoints = [  # t, x, y, z of the pin's axis, its turn in degrees
        (0.0, 0.13, 0.0, 0.19, 0.0), (0.3, 0.13, 0.0, 0.19, 0.0), (0.5, 0.13, 0.0, 0.09, 0.0), (1.8, -0.286, 0.0, 0.09, 0.0),
        (2.1, -0.286, 0.0, 0.24, 0.0), (3.4, 0.13, 0.0, 0.24, 0.0), (3.9, 0.13, 0.0, 0.24, 30.0), (4.2, 0.13, 0.0, 0.09, 30.0),
        (4.9, 0.13 + 0.168 * dx, 0.168 * dy, 0.09, 30.0), (5.25, 0.13 + 0.168 * dx, 0.168 * dy, 0.27, 30.0),
        (5.95, 0.13, 0.0, 0.27, 30.0), (6.25, 0.13, 0.0, 0.075, 30.0), (6.85, 0.13 - 0.144 * dx, -0.144 * dy, 0.075, 30.0),
        (7.15, 0.13 - 0.144 * dx, -0.144 * dy, 0.225, 30.0)]

    def way(t):
        x, y, z, turn = between(waypoints, t)
        turn = radians(turn)
        return (x - side * 0.22 * sin(turn), y + side * 0.22 * cos(turn), z - 0.035), turn, 0.0198

    return way


if __name__ == "__main__":
    write("tear_right.csv", (0.0, 0.0, 0.0), tear(-1), 3.0)
    write("tear_left.csv", (0.0, 0.58, 0.0), tear(1), 3.0)
    write("roll_right.csv", (0.05, -0.72, pi / 2), roll(-1), 7.2)
    write("roll_left.csv", (0.05, 0.72, -pi / 2), roll(1), 7.2)
