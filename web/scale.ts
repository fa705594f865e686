/** Scales and ticks of the charts. */

export interface Scale {
  (value: number): number;
  invert(at: number): number;
  readonly ticks: readonly number[];
}

export function linearScale(
  domain: readonly [number, number],
  range: readonly [number, number],
  wanted = 6,
): Scale {
  const [low, high] = domain[0] === domain[1] ? [domain[0], domain[0] + 1] : domain;
  const factor = (range[1] - range[0]) / (high - low);
  const scale = (value: number): number => range[0] + (value - low) * factor;
  return Object.assign(scale, {
    invert: (at: number): number => low + (at - range[0]) / factor,
    ticks: niceTicks(low, high, wanted),
  });
}

export function logScale(domain: readonly [number, number], range: readonly [number, number]): Scale {
  const low = Math.log10(Math.max(domain[0], 1e-9));
  const high = Math.max(Math.log10(Math.max(domain[1], 1e-9)), low + 0.1);
  const factor = (range[1] - range[0]) / (high - low);
  const scale = (value: number): number =>
    range[0] + (Math.max(low, Math.log10(Math.max(value, 1e-12))) - low) * factor;
  const ticks: number[] = [];
  const steps = high - low > 2.6 ? [1] : high - low > 1.2 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++)
    for (const step of steps) {
      const tick = step * 10 ** power;
      if (Math.log10(tick) >= low - 1e-9 && Math.log10(tick) <= high + 1e-9) ticks.push(tick);
    }
  return Object.assign(scale, {
    invert: (at: number): number => 10 ** (low + (at - range[0]) / factor),
    ticks,
  });
}

/** A time axis ticks in whole seconds, minutes or hours. */
export function timeTicks(low: number, high: number, wanted = 6): number[] {
  const steps = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1.5e4, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5,
    72e5, 216e5, 432e5, 864e5,
  ];
  const step = steps.find((size) => (high - low) / size <= wanted) ?? 864e5;
  const ticks: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high && ticks.length < 100; at += step) ticks.push(at);
  return ticks;
}

function niceTicks(low: number, high: number, wanted: number): number[] {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((size) => size * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (
    let at = Math.ceil(low / step - 1e-9) * step;
    at <= high + step * 1e-9 && ticks.length < 50;
    at += step
  )
    ticks.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return ticks;
}
