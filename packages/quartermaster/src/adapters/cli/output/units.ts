import { count } from './layout.ts'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Limits of durations. */
const DAY = { longest: '24h', longestMs: UNITS.d } as const
export const MONTH = { longest: '30d', longestMs: 30 * UNITS.d } as const
export const YEAR = { longest: '366d', longestMs: 366 * UNITS.d } as const

/** `30s` as milliseconds, or what is wrong with it. */
export function parseDuration(
  text: string,
  { longest, longestMs }: typeof DAY | typeof MONTH | typeof YEAR = DAY,
): { ms: number } | { problem: string } {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim())
  if (!match) return { problem: 'Write a number and a unit, such as 500ms, 30s, 2m, 1h or 1d.' }
  const [, amount, unit] = match
  if (unit === undefined) return { problem: `It has no unit. Write ${amount}s for seconds, or ms, m, h, d.` }
  const ms = Math.round(Number(amount) * UNITS[unit as keyof typeof UNITS])
  if (ms < 1) return { problem: 'It must be longer than nothing.' }
  return ms > longestMs ? { problem: `It must be at most ${longest}.` } : { ms }
}

/** A duration in words: `3 minutes`. */
export function inWords(ms: number): string {
  return spanText(ms, Math.floor)
}

/** A duration that lies ahead, rounded: right after a day was given, `24 hours` and not 23. */
export function aheadInWords(ms: number): string {
  return spanText(ms, Math.round)
}

const STEPS = [
  { name: 'day', ms: UNITS.d },
  { name: 'hour', ms: UNITS.h },
  { name: 'minute', ms: UNITS.m },
  { name: 'second', ms: UNITS.s },
] as const

function spanText(ms: number, toWhole: (amount: number) => number): string {
  const step = STEPS.find(step => ms >= step.ms)
  return step ? count(toWhole(ms / step.ms), step.name) : 'less than a second'
}

/** `3 minutes ago`. */
export function agoText(time: number, now: number): string {
  return `${inWords(Math.max(0, now - time))} ago`
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** `12 kB`. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** How many bytes a base64 text encodes. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((text.length * 3) / 4) - padding)
}
