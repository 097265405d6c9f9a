import { InvalidArgumentError, Option } from 'commander'
import {
  type AgentControl,
  type Answer,
  AppError,
  type CallAnswer,
  type Control,
  type ControlInput,
  type ErrorCode,
  IdempotencyKey,
  isAppError,
  type JsonSchema,
  type KeptResult,
  type ToolDetail,
  type UrlQuestion,
  WhenDisabled,
} from '../../../../contracts/index.ts'
import { buildObject, parseObject, readArguments, type WrittenArguments } from '../../arguments.ts'
import { askConsent, canAsk, isYes, requiredConsent } from '../../ask.ts'
import { command } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { agentOption, defined, durationOf } from '../../options.ts'
import { toolOf } from '../../output/error-text.ts'
import { paragraph } from '../../output/layout.ts'
import { resultText } from '../../output/result-text.ts'
import { escapeBlock, escapeLine } from '../../output/terminal.ts'
import { sizeInWords } from '../../output/units.ts'
import type { Hints, Session } from '../../session.ts'
import { printWaiting } from './operation-text.ts'

/** The options of any call. */
export interface CallOptions {
  agent: string
  evenIfDisabled?: boolean
  whenDisabled?: WhenDisabled
  timeout?: number
  all?: boolean
  idempotencyKey?: string
}

export function callOptions(): Option[] {
  return [
    agentOption('the agent to call as').default('default'),
    new Option(
      '--when-disabled <WHAT>',
      'while something it needs is missing: fail, wait for it, or run anyway',
    ).choices(WhenDisabled.options),
    new Option('--even-if-disabled', 'the same as --when-disabled run').conflicts('whenDisabled'),
    new Option('--timeout <DURATION>', "how long to wait, such as 30s; the tool's own limit holds too").argParser(
      durationOf(),
    ),
    new Option(
      '--idempotency-key <KEY>',
      'your name for this call: a repeat under it gets the first answer, and nothing is done twice',
    ).argParser(toKey),
    new Option(
      '--all',
      'print a result that was cut to its end (done automatically where standard output is no terminal)',
    ),
  ]
}

function toKey(text: string): string {
  const { data, error } = IdempotencyKey.safeParse(text)
  if (data === undefined) throw new InvalidArgumentError(`${error?.issues[0]?.message}.`)
  return data
}

export const registerCall = command<CallOptions & { tool: string; words: string[] }>({
  name: 'call',
  description:
    'Call a tool as an agent would, through the same checks. Ends with 1 when the tool says no, with 14 when it has to wait.',
  arguments: [
    ['<TOOL>', 'its name', 'tool', 'tool'],
    [
      '[ARGUMENTS...]',
      'one JSON object, key=value pairs (a.b=1 goes inside), or - for JSON on standard input',
      'words',
    ],
  ],
  options: callOptions(),
  examples: [
    ['quartermaster call read_file path=notes.txt', 'arguments as pairs'],
    [`quartermaster call search_files '{"query":"budget"}' --agent researcher`, 'as one JSON object, as another agent'],
    ['quartermaster call send_report to=team --idempotency-key report-2026-11', 'once, however often it is run'],
    ['jq -n \'{path: "notes.txt"}\' | quartermaster call read_file - --json', 'from a program, for a program'],
  ],
  async run(session, { tool, words, ...options }) {
    session.hints = { tool, agent: options.agent }
    const written = readArguments(words)
    return await session.connectAsAgent(async (control, owner) => {
      const input = await toInput(session, control, tool, written)
      const mayAsk = written.kind !== 'stdin' && canAsk(session)
      return await runCall(session, { control, owner }, { tool, input, options, mayAsk })
    })
  },
})

async function toInput(
  session: Session,
  control: AgentControl,
  tool: string,
  written: WrittenArguments,
): Promise<Record<string, unknown>> {
  if (written.kind === 'stdin')
    return parseObject(await session.untilAborted(session.host.io.stdin.read()), 'Standard input')
  if (written.kind === 'json') return parseObject(written.text, 'The argument')
  if (written.pairs.length === 0) return {}
  return buildObject(written.pairs, await inputSchema(session, control, tool))
}

const REFUSED: ReadonlySet<ErrorCode> = new Set(['TOOL_DISABLED', 'TOOL_NOT_FOUND'])

/** For a tool that is held back or missing no schema is needed: the call is refused, and recorded as refused. */
async function inputSchema(session: Session, control: AgentControl, tool: string): Promise<JsonSchema> {
  try {
    return (await session.attend('Looking', options => control.tool({ name: tool }, options))).input
  } catch (error) {
    if (isAppError(error) && REFUSED.has(error.code)) return {}
    throw error
  }
}

interface CallToRun {
  readonly tool: string
  readonly input: Record<string, unknown>
  readonly options: CallOptions
  /** Whether a person is at the terminal who can be asked. */
  readonly mayAsk: boolean
}

/** The control of the caller, and that of the owner where the owner calls. */
export interface Controls {
  readonly control: AgentControl
  readonly owner: Control | undefined
}

/** Calls a tool as an agent would, asks the person where that is needed, prints the answer, and answers the exit code. */
export async function runCall(
  session: Session,
  { control, owner }: Controls,
  { tool, input, options, mayAsk }: CallToRun,
): Promise<number> {
  const { agent, evenIfDisabled, whenDisabled, timeout: timeoutMs, idempotencyKey, all = false } = options
  // Without a person here the call waits for one elsewhere, as an agent's call does.
  const waits = mayAsk ? undefined : (true as const)
  const request = {
    agent,
    tool,
    input,
    ...defined({ evenIfDisabled, whenDisabled, timeoutMs, idempotencyKey, waits }),
  }
  const answer = await callWithConsent(session, control, request, mayAsk).catch(async error => {
    if (owner) session.hints = { ...session.hints, ...(await hintsAfter(session, owner, { error, tool, agent })) }
    throw error
  })
  const { waiting } = answer
  if (waiting) return await printWaiting(session, tool, { ...answer, waiting })
  if (session.json) await session.printJson(answer)
  else await printResult(session, control, { answer, agent, all })
  return answer.result.isError ? EXIT.no : EXIT.done
}

async function callWithConsent(
  session: Session,
  control: AgentControl,
  request: ControlInput<'call'>,
  mayAsk: boolean,
): Promise<CallAnswer> {
  const { tool } = request
  const run = (input: ControlInput<'call'>) =>
    session.attend(`Calling ${tool}`, ({ aside, ...options }) => {
      const openPage = (question: UrlQuestion, signal?: AbortSignal) =>
        aside(() => askToOpen(session, tool, question, signal))
      return control.call(input, mayAsk ? { ...options, openPage } : options)
    })
  try {
    return await run(request)
  } catch (error) {
    const required = mayAsk ? requiredConsent(error, tool) : undefined
    if (!required) throw error
    if (!(await askConsent(session, request, required)))
      throw new AppError('CONSENT_DENIED', `You did not allow it, so "${tool}" was not run.`)
    const operations = required.operations.map(operation => operation.name)
    return await run({ ...request, consented: { operations, digest: required.digest } })
  }
}

const NEEDS_CAPABILITY: ReadonlySet<ErrorCode> = new Set(['TOOL_NOT_FOUND', 'CONSENT_REQUIRED', 'AGENT_NOT_FOUND'])

/** Further names for the next step behind a failed call. Only the owner is told them. */
async function hintsAfter(
  session: Session,
  control: Control,
  call: { readonly error: unknown; readonly tool: string; readonly agent: string },
): Promise<Hints> {
  const { error, agent } = call
  // A program reads the error and no next step.
  if (session.json || !isAppError(error) || !NEEDS_CAPABILITY.has(error.code)) return {}
  const name = error.code === 'CONSENT_REQUIRED' ? (toolOf(error) ?? call.tool) : call.tool
  const tool = await orUndefined(session.attend('Looking', on => control.tool({ name }, on)))
  if (!tool) return {}
  const { capability } = tool
  if (error.code !== 'TOOL_NOT_FOUND') return { capability }
  return { capability, ...(await whyMissing(session, control, agent, tool)) }
}

/** Why an agent does not have a tool that exists; nothing when it has it, and the error means another tool. */
async function whyMissing(
  session: Session,
  control: Control,
  agent: string,
  { name, ownName = name, capability }: ToolDetail,
): Promise<Hints> {
  // Without a progress callback, so that unrelated servers are not waited for.
  const { signal } = session.host
  const look = <T>(read: () => Promise<T>) => orUndefined(session.attend('Looking', read))
  const check = await look(() => control.checkAgent({ name: agent }, { signal }))
  if (check?.ok === false) return { isAgentBroken: true }
  const own = (check?.report ?? []).filter(entry => entry.capability === capability).map(entry => entry.tool)
  if (own.includes(ownName)) return {}
  const all = await look(() => control.capabilities({}, { signal }))
  if (all?.every(({ key }) => key !== capability)) return { comesAlong: true }
  const agents = await look(() => control.agents({}, { signal }))
  const isNarrowed = agents?.some(each => each.name === agent && each.capabilities.includes(capability))
  // The agent has the capability without this tool, and a grant keeps that list unless it names another.
  return { grant: isNarrowed ? { capability, tools: [...own, ownName] } : { capability } }
}

/** A hint that cannot be had is left out: the error itself must be shown. */
function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch(() => undefined)
}

/** Shows a page that a call waits for, and asks whether the person has visited it. */
async function askToOpen(
  session: Session,
  tool: string,
  { message, url }: UrlQuestion,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const { notices, host } = session
  const head = `${escapeLine(tool)} asks you to open a page:\n${paragraph(message, notices, '  ')}`
  await notices.write(`${head}  ${notices.paint.bold(escapeLine(url))}\n`)
  const prompt = 'Have you opened it and done what it asks? [y/N] '
  const either = signal ? AbortSignal.any([host.signal, signal]) : host.signal
  const answer = await session.untilAborted(host.io.stdin.question(prompt, { signal: either })).catch(async error => {
    if (host.signal.aborted || !signal?.aborted) throw error
    await notices.write('\nIt is not needed any more.\n')
    return undefined
  })
  if (answer === undefined) return { action: 'cancel' }
  return { action: isYes(answer) ? 'accept' : 'decline' }
}

/**
 * Prints what a tool answered: to standard output, or to standard error when it said no. On a terminal control characters are
 * shown as escapes and the last line is ended; anywhere else every text is printed unchanged.
 */
async function printResult(
  session: Session,
  control: AgentControl,
  { answer, agent, all }: { answer: CallAnswer; agent: string; all: boolean },
): Promise<void> {
  const { result, kept } = answer
  const { paint, isTerminal, write } = result.isError ? session.notices : session.out
  let endsLine = true
  const print = async (text: string) => {
    if (text === '') return
    endsLine = text.endsWith('\n')
    const shown = isTerminal ? escapeBlock(text) : text
    await write(result.isError ? paint.red(shown) : shown)
  }
  if (kept && (all || !isTerminal)) await readKept(session, control, { agent, kept, print })
  else await print(resultText(result))
  if (!endsLine && isTerminal) await write('\n')
  if (kept && !all && isTerminal) {
    const { nextOffset, totalBytes } = kept
    await session.notices.write(
      `Cut at ${sizeInWords(nextOffset)} of ${sizeInWords(totalBytes)}. To see the rest, call it again with --all, or into a file or a pager.\n`,
    )
  }
}

/** Reads a kept result from its beginning, because the cut one may carry a remark for the agent at its end. */
async function readKept(
  session: Session,
  control: AgentControl,
  { agent, kept, print }: { agent: string; kept: KeptResult; print(text: string): Promise<void> },
): Promise<void> {
  const { resultId, keptBytes, totalBytes } = kept
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const from: number = offset
    const page = await session.attend('Reading on', options =>
      control.readResult({ agent, resultId, offset: from }, options),
    )
    await print(page.text)
    // A next page that does not lie ahead would be read for ever.
    offset = page.nextOffset !== undefined && page.nextOffset > from ? page.nextOffset : undefined
  }
  if (keptBytes < totalBytes)
    await session.notices.write(
      `Only ${sizeInWords(keptBytes)} of ${sizeInWords(totalBytes)} were kept; the rest is gone.\n`,
    )
}
