import type { DependencyState, MissingDependency, Problem } from '../../../contracts/index.ts'
import type { OpenedControl } from '../host.ts'
import { paragraph } from './layout.ts'
import type { Frame } from './terminal.ts'
import { aheadInWords, inWords } from './units.ts'

/** What the text of an answer depends on: the time, and who answered. */
export interface Answered {
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

export function stateInWords(state: DependencyState): string {
  return STATES[state]
}

/** `mail is down: connection refused`. */
export function dependencyInWords({ name, state, reason }: { name: string; state: DependencyState; reason: string }) {
  // Its reason would only repeat this.
  if (state === 'optedOut') return `${name} is switched off in the configuration`
  return `${name} is ${STATES[state]}: ${reason}`
}

/** `mail has been down for 3 minutes: connection refused`. */
export function missingInWords({ dependency: name, state, ageMs, reason }: MissingDependency): string {
  if (state === 'optedOut') return dependencyInWords({ name, state, reason })
  return `${name} has been ${STATES[state]} for ${inWords(ageMs)}: ${reason}`
}

/** Whether it, or a dependency of it, was switched off by a person, so that no recheck ever probes it. */
export function isSwitchedOff({ state, nextRecheckAt }: MissingDependency): boolean {
  return state === 'optedOut' || nextRecheckAt === undefined
}

/** Everything about one missing dependency: reason, age, next recheck, fix. */
export function missingBlock(missing: MissingDependency, answered: Answered, frame: Frame): string {
  return [
    paragraph(missingInWords(missing), frame, '  '),
    nextRecheckLine(missing, answered, frame),
    fixBlock(fixOf(missing), frame, '    '),
  ].join('')
}

/** The next recheck is known only where an `up` remembers the last one; a command without `up` always probes again. */
function nextRecheckLine(missing: MissingDependency, { now, from }: Answered, frame: Frame): string {
  const { nextRecheckAt: at } = missing
  if (from !== 'up' || at === undefined || isSwitchedOff(missing)) return ''
  const when = at <= now ? 'now' : `in ${aheadInWords(Math.max(1_000, at - now))}`
  return paragraph(`Next recheck: ${when}.`, frame, '    ')
}

/** The author's advice does not help while the dependency is switched off. */
function fixOf({ dependency, state, fix }: MissingDependency): string | undefined {
  if (state !== 'optedOut') return fix
  const upstream = /^upstream-(.+)$/.exec(dependency)?.[1]
  const key = upstream === undefined ? `dependencies.${dependency}` : `mcpServers.${upstream}`
  return `Switch it on in the configuration: ${key}.enabled.`
}

/** Problems with their places and how to fix them. */
export function problemBlocks(problems: readonly Problem[], frame: Frame): string {
  const block = (problem: Problem) => {
    const mark = problem.severity === 'error' ? frame.paint.red('✗') : frame.paint.yellow('!')
    return `${mark} ${hanging(problemInWords(problem), frame)}${fixBlock(problem.fix, frame, '  ')}`
  }
  return problems.map(block).join('')
}

/** One problem with its place, as exactly as is known. */
export function problemInWords({ where, subject, field, message }: Problem): string {
  const prefix = placePrefix(message, where) ?? ''
  const place = prefix === '' ? where : prefix.replace(/:\s+$/, '')
  return `${[place, subject, field].filter(Boolean).join(' · ')}: ${message.slice(prefix.length)}`
}

/** The `FILE:LINE:COLUMN: ` that a message begins with, if the file is this one. */
export function placePrefix(message: string, where: string): string | undefined {
  if (!message.startsWith(where)) return undefined
  const [rest] = /^(?::\d+){0,2}:\s+/.exec(message.slice(where.length)) ?? []
  return rest === undefined ? undefined : where + rest
}

export function fixBlock(fix: string | undefined, frame: Frame, indent: string): string {
  return fix === undefined ? '' : paragraph(`Fix: ${fix}`, frame, indent)
}

/** A paragraph after a mark that takes two columns. */
export function hanging(text: string, frame: Frame): string {
  return paragraph(text, frame, '  ').slice(2)
}
