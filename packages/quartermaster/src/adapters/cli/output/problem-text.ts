import type { DependencyState, MissingDependency, Problem } from '../../../contracts/index.ts'
import type { OpenedControl } from '../host.ts'
import { paragraph } from './layout.ts'
import type { Frame } from './printer.ts'
import { aheadInWords, inWords } from './units.ts'

/** When someone looks, and who answered. */
export interface Look {
  readonly now: number
  readonly from: OpenedControl['from'] | undefined
}

const STATES = {
  up: 'up',
  recovering: 'recovering',
  down: 'down',
  unknown: 'unknown',
  optedOut: 'switched off',
} as const satisfies Record<DependencyState, string>

/** A dependency's state as people say it. */
export function stateInWords(state: DependencyState): string {
  return STATES[state]
}

/** `mail is down: connection refused`. */
export function dependencyInWords({ name, state, reason }: { name: string; state: DependencyState; reason: string }) {
  // Its reason would only say the same once more.
  if (state === 'optedOut') return `${name} is switched off in the configuration`
  return `${name} is ${stateInWords(state)}: ${reason}`
}

/** `mail has been down for 3 minutes: connection refused`. */
export function missingInWords({ dependency: name, state, ageMs, reason }: MissingDependency): string {
  if (state === 'optedOut') return dependencyInWords({ name, state, reason })
  return `${name} has been ${stateInWords(state)} for ${inWords(ageMs)}: ${reason}`
}

/** Whether it, or what it hangs on, was switched off by a person, so that no recheck ever looks at it. */
export function isSwitchedOff({ state, nextRecheckAt }: MissingDependency): boolean {
  return state === 'optedOut' || nextRecheckAt === undefined
}

/** Everything about one missing dependency: reason, age, next recheck, fix. */
export function missingBlock(missing: MissingDependency, look: Look, frame: Frame): string {
  return [
    paragraph(missingInWords(missing), frame, '  '),
    nextRecheckLine(missing, look, frame),
    fixBlock(fixOf(missing), frame, '    '),
  ].join('')
}

/** The next recheck is known only where an `up` remembers the last one; a command without `up` always probes again. */
function nextRecheckLine(missing: MissingDependency, { now, from }: Look, frame: Frame): string {
  const { nextRecheckAt: at } = missing
  if (from !== 'up' || at === undefined || isSwitchedOff(missing)) return ''
  return paragraph(
    `Next recheck: ${at <= now ? 'now' : `in ${aheadInWords(Math.max(1_000, at - now))}`}.`,
    frame,
    '    ',
  )
}

/** The author's advice for fixing does not help while the dependency is switched off. */
function fixOf({ dependency, state, fix }: MissingDependency): string | undefined {
  if (state !== 'optedOut') return fix
  const upstream = /^upstream-(.+)$/.exec(dependency)?.[1]
  const where = upstream === undefined ? `dependencies.${dependency}` : `mcpServers.${upstream}`
  return `Switch it on in the configuration: ${where}.enabled.`
}

/** One problem with its place and how to fix it. */
export function problemBlock(problem: Problem, frame: Frame): string {
  const mark = problem.severity === 'error' ? frame.paint.red('✗') : frame.paint.yellow('!')
  return `${mark} ${hanging(problemInWords(problem), frame)}${fixBlock(problem.fix, frame, '  ')}`
}

/** One problem with its place, which is told once, as exactly as is known. */
export function problemInWords({ where, subject, field, message }: Problem): string {
  const begin = placeAtBegin(message, where) ?? ''
  const place = begin === '' ? where : begin.replace(/:\s+$/, '')
  return `${[place, subject, field].filter(Boolean).join(' · ')}: ${message.slice(begin.length)}`
}

/** The `FILE:LINE:COLUMN: ` that a message begins with, if the file is this one. */
export function placeAtBegin(message: string, where: string): string | undefined {
  if (!message.startsWith(where)) return undefined
  const [rest] = /^(?::\d+){0,2}:\s+/.exec(message.slice(where.length)) ?? []
  return rest === undefined ? undefined : where + rest
}

/** What to do about something, if its author said so. */
export function fixBlock(fix: string | undefined, frame: Frame, indent: string): string {
  return fix === undefined ? '' : paragraph(`Fix: ${fix}`, frame, indent)
}

/** A paragraph behind a mark of two columns. */
export function hanging(text: string, frame: Frame): string {
  return paragraph(text, frame, '  ').slice(2)
}
