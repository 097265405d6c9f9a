import { z } from 'zod'
import {
  type AppError,
  ConsentOperation,
  type ErrorCode,
  Issue,
  MissingDependency,
  Problem,
} from '../../contracts/index.ts'
import { missingBlock, problemBlock } from './explain.ts'
import { paragraph } from './layout.ts'
import type { Hints } from './session.ts'
import { shellWord } from './shell-word.ts'
import type { Frame } from './table.ts'

/** The parts of an error's details that people need. Whatever else is there is for programs. */
const Details = {
  missing: z.array(MissingDependency),
  issues: z.array(Issue),
  problems: z.array(Problem),
  operations: z.array(ConsentOperation),
}

/** An error for people: what happened, what they need to know about it, and the next step. */
export function errorText(error: AppError, hints: Hints, frame: Frame & { now: number }): string {
  const { paint } = frame
  const next = NEXT_STEPS[error.code]?.(hints)
  return [
    `${paint.red('Error:')} ${paragraph(headline(error), { ...frame, width: narrower(frame.width, 7) }, '       ').slice(7)}`,
    ...detailBlocks(error, frame),
    next === undefined
      ? ''
      : `${paint.bold('Next:')} ${paragraph(next, { ...frame, width: undefined }, '      ').slice(6)}`,
    paint.dim(`(${error.code})`),
    '\n',
  ].join('')
}

/** The message, shortened where it is told again below, in words that suit a terminal. */
function headline({ code, message, details }: AppError): string {
  const tool = typeof details?.tool === 'string' ? details.tool : undefined
  if (code === 'TOOL_DISABLED' && tool && details?.missing) return `"${tool}" is disabled.`
  if (code === 'CONSENT_REQUIRED' && tool && details?.operations) return `"${tool}" needs a person's consent.`
  return message
}

function narrower(width: number | undefined, by: number): number | undefined {
  return width === undefined ? undefined : Math.max(20, width - by)
}

function detailBlocks(error: AppError, frame: Frame & { now: number }): string[] {
  const detail = <K extends keyof typeof Details>(key: K): z.infer<(typeof Details)[K]> | [] => {
    const parsed = Details[key].safeParse(error.details?.[key])
    return parsed.success ? (parsed.data as z.infer<(typeof Details)[K]>) : []
  }
  return [
    ...detail('missing').map(missing => missingBlock(missing, frame.now, frame)),
    ...detail('issues')
      .filter(issue => !error.message.includes(issue.message))
      .map(issue => paragraph(`${issue.path.join('.') || 'input'}: ${issue.message}`, frame, '  ')),
    ...detail('problems').map(problem => problemBlock(problem, frame)),
    ...detail('operations').map(({ name, weight, reason }) => paragraph(`${name} (${weight}): ${reason}`, frame, '  ')),
  ]
}

const NEXT_STEPS: { readonly [K in ErrorCode]?: (hints: Hints) => string } = {
  TOOL_NOT_FOUND: ({ agent }) =>
    agent ? `See what it has: ${command('tools', '--agent', agent)}` : `See what there is: ${command('tools')}`,
  TOOL_DISABLED: ({ tool = 'TOOL' }) =>
    `Mend what is missing, then: ${command('recheck', tool)}\nOr run it anyway: add --even-if-disabled`,
  INPUT_INVALID: ({ tool }) => `See what it takes: ${tool ? command('tools', tool) : command('tools', 'NAME')}`,
  CONSENT_REQUIRED: ({ agent = 'AGENT', capability = 'CAPABILITY' }) =>
    `Run it at a terminal to be asked, or allow it for good: ${command('grant', agent, capability, '--consent', 'OPERATION')}`,
  DEADLINE_EXCEEDED: () => 'Give it more time: add --timeout 2m',
  DEPENDENCY_UNAVAILABLE: ({ tool = 'NAME' }) =>
    `See what is down: ${command('status')}, then: ${command('recheck', tool)}`,
  DEPENDENCY_UNKNOWN: () => `See all dependencies: ${command('status')}`,
  OUTCOME_UNKNOWN: () => 'It may have happened. Look at what it changes before you run it again.',
  AGENT_NOT_FOUND: ({ agent = 'NAME', capability = 'CAPABILITY' }) =>
    `See all agents: ${command('agents')}, or make it: ${command('grant', agent, capability, '--create')}`,
  AGENT_INVALID: ({ agent = 'NAME' }) => `See what is wrong with its file: ${command('agents', 'check', agent)}`,
  CAPABILITY_UNKNOWN: () => `See all capabilities: ${command('capabilities')}`,
  CONFIG_INVALID: () => `See everything that is wrong: ${command('doctor')}`,
  DEFINITION_INVALID: () => `See everything that is wrong: ${command('doctor')}`,
  NAME_UNKNOWN: () => `See what there is: ${command('status')} and ${command('tools')}`,
  NAME_AMBIGUOUS: ({ name = 'NAME' }) =>
    `Say which: ${command('recheck', `tool:${name}`)}, dependency:${name} or capability:${name}`,
  STORE_LOCKED: () => 'Another process owns the data folder. Stop it, or name another folder with --data.',
  INTERNAL: () => `Look for a cause: ${command('doctor')}`,
}

function command(...words: string[]): string {
  return ['quartermaster', ...words.map(shellWord)].join(' ')
}
