import type { AppError, Problem } from '../../contracts/index.ts'
import { resultText } from './content.ts'
import { detail, toolOf } from './error-details.ts'
import { type Look, missingBlock, problemBlock } from './explain.ts'
import { count, paragraph } from './layout.ts'
import { nextStep } from './next-step.ts'
import { stepWithToken } from './next-step-with-token.ts'
import { saidText } from './operation-text.ts'
import type { Hints } from './session.ts'
import { shownHead } from './shown-head.ts'
import type { Frame } from './table.ts'

/** An error for people: what happened, what they need to know about it, and the next step. */
export function errorText(error: AppError, hints: Hints, frame: Frame & Look & { hasToken: boolean }): string {
  const { paint } = frame
  const next = frame.hasToken ? stepWithToken(error, hints, frame) : nextStep(error, hints, frame)
  return [
    `${paint.red('Error:')} ${paragraph(headline(error, frame), { ...frame, width: narrower(frame.width, 7) }, '       ').slice(7)}`,
    ...detailBlocks(error, frame),
    next === undefined
      ? ''
      : `${paint.bold('Next:')} ${paragraph(next, { ...frame, width: undefined }, '      ').slice(6)}`,
    paint.dim(`(${error.code})`),
    '\n',
  ].join('')
}

/** The message, shortened where it is told again below, in words that suit a terminal. */
function headline(error: AppError, { hasToken }: { hasToken: boolean }): string {
  const { code, message, details } = error
  // Whoever shows a token that does not count makes none.
  if (code === 'TOKEN_INVALID' && hasToken) return message.replace(/ Make one: .*$/, '')
  const tool = toolOf(error)
  if (code === 'TOOL_DISABLED' && tool && details?.missing) return `"${tool}" is disabled.`
  if (code === 'CONSENT_REQUIRED' && tool && details?.operations) return `"${tool}" needs a person's consent.`
  const problems = detail(error, 'problems')
  return problems.length === 0 ? message : withoutProblems(message, problems)
}

/** What a message says beside its problems, which are told below with their places. */
function withoutProblems(message: string, problems: readonly Problem[]): string {
  const told = problems.flatMap(problem => `${problem.message}\n${problem.fix ?? ''}`.split('\n')).filter(Boolean)
  const rest = message.split('\n').filter(line => !told.some(text => line.includes(text)))
  return rest.join('\n').trim() || `${count(problems.length, 'problem')}:`
}

function narrower(width: number | undefined, by: number): number | undefined {
  return width === undefined ? undefined : Math.max(20, width - by)
}

function detailBlocks(error: AppError, frame: Frame & Look): string[] {
  return [
    ...detail(error, 'missing').map(missing => missingBlock(missing, frame, frame)),
    ...detail(error, 'issues')
      .filter(issue => !error.message.includes(issue.message))
      .map(issue => paragraph(`${issue.path.join('.') || 'input'}: ${issue.message}`, frame, '  ')),
    ...detail(error, 'problems').map(problem => problemBlock(problem, frame)),
    ...detail(error, 'operations').map(({ name, weight, reason }) =>
      paragraph(`${name} (${weight}): ${reason}`, frame, '  '),
    ),
    ...saidBlock(error, frame),
  ]
}

function saidBlock(error: AppError, frame: Frame): string[] {
  const content = detail(error, 'content')
  if (content.length === 0) return []
  const { text, cutAt } = shownHead(resultText({ content }), { isTerminal: frame.width !== undefined })
  return [saidText(text, frame), ...(cutAt === undefined ? [] : [paragraph(saidCut(error, cutAt), frame)])]
}

/** One that is on record is not called again to be read. */
function saidCut({ details }: AppError, cutAt: string): string {
  const id = details?.operationId
  const all =
    typeof id === 'string' ? `quartermaster operations show ${id} --json` : 'the same with --json, or 2> into a file'
  return `What it said is cut at ${cutAt}. To see all of it: ${all}.`
}
