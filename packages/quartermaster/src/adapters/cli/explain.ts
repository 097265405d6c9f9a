import type { MissingDependency, Problem } from '../../contracts/index.ts'
import { inWords } from './duration.ts'
import { paragraph } from './layout.ts'
import type { Frame } from './table.ts'

const STATES = {
  up: 'up',
  recovering: 'recovering',
  down: 'down',
  unknown: 'unknown',
  optedOut: 'switched off',
} as const satisfies Record<MissingDependency['state'], string>

/** A dependency's state as people say it. */
export function stateInWords(state: MissingDependency['state']): string {
  return STATES[state]
}

/** `mail has been down for 3 minutes: connection refused`. */
export function missingInWords({ dependency, state, ageMs, reason }: MissingDependency): string {
  return `${dependency} has been ${stateInWords(state)} for ${inWords(ageMs)}: ${reason}`
}

/** When a recheck may look again. */
export function nextRecheckInWords(at: number | undefined, now: number): string {
  if (at === undefined) return 'never, because it is switched off in the configuration'
  return at <= now ? 'now' : `in ${inWords(Math.max(1_000, at - now))}`
}

/** Everything about one missing dependency: reason, age, next recheck, mend. */
export function missingBlock(missing: MissingDependency, now: number, frame: Frame): string {
  const lines = [
    paragraph(missingInWords(missing), frame, '  '),
    paragraph(`Next recheck: ${nextRecheckInWords(missing.nextRecheckAt, now)}.`, frame, '    '),
  ]
  return lines.join('') + mendBlock(missing.mend, frame, '    ')
}

/** One problem with its place and how to mend it. */
export function problemBlock(problem: Problem, frame: Frame): string {
  const mark = problem.severity === 'error' ? frame.paint.red('✗') : frame.paint.yellow('!')
  const place = [problem.where, problem.subject, problem.field].filter(Boolean).join(' · ')
  return `${mark} ${hanging(`${place}: ${problem.message}`, frame)}${mendBlock(problem.mend, frame, '  ')}`
}

/** What to do about something, if its author said so. */
export function mendBlock(mend: string | undefined, frame: Frame, indent: string): string {
  return mend === undefined ? '' : paragraph(`Mend: ${mend}`, frame, indent)
}

/** A paragraph behind a mark of two columns. */
export function hanging(text: string, frame: Frame): string {
  return paragraph(text, frame, '  ').slice(2)
}
