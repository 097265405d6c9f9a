import { type Command, InvalidArgumentError, Option } from 'commander'
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
import { askConsent, canAsk, consentAsked } from '../../ask.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument, CompletingOption } from '../../completion/command-line.ts'
import { EXIT } from '../../errors.ts'
import { defined, durationOf } from '../../options.ts'
import { toolOf } from '../../output/error-text.ts'
import { escapeBlock, escapeLine } from '../../output/escape.ts'
import { paragraph } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { resultText } from '../../output/result-text.ts'
import { sizeInWords } from '../../output/units.ts'
import type { Hints, Session } from '../../session.ts'
import { tellWaiting } from './operation-text.ts'

export const registerCall: Register = (program, act) => {
  const command = program
    .command('call')
    .description(
      'Call a tool as an agent would, through the same checks. Ends with 1 when the tool says no, with 14 when it has to wait.',
    )
    .addArgument(new CompletingArgument('<TOOL>', 'its name', 'tool'))
    .argument('[ARGUMENTS...]', 'one JSON object, key=value pairs (a.b=1 goes inside), or - for JSON on standard input')
    .action((tool: string, words: string[], options: CallOptions) =>
      act(session => call(session, tool, words, options)),
    )
  addCallOptions(command)
  addExamples(command, [
    ['quartermaster call read_file path=notes.txt', 'arguments as pairs'],
    [`quartermaster call search_files '{"query":"budget"}' --agent researcher`, 'as one JSON object, as another agent'],
    ['quartermaster call send_report to=team --idempotency-key report-2026-11', 'once, however often it is run'],
    ['jq -n \'{path: "notes.txt"}\' | quartermaster call read_file - --json', 'from a program, for a program'],
  ])
}

async function call(session: Session, tool: string, words: readonly string[], options: CallOptions): Promise<number> {
  session.hints = { tool, agent: options.agent }
  const written = readArguments(words)
  return await session.connectAsAgent(async (control, owner) => {
    const input = await toInput(session, control, tool, written)
    return await runCall(
      session,
      { control, owner },
      {
        tool,
        input,
        options,
        mayAsk: written.kind !== 'stdin' && canAsk(session),
      },
    )
  })
}

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
  return buildObject(written.pairs, await schemaOf(session, control, tool))
}

const REFUSED: ReadonlySet<ErrorCode> = new Set(['TOOL_DISABLED', 'TOOL_NOT_FOUND'])

/** The input schema. For a tool that is held back or missing it is not needed: the call is refused, and recorded as refused. */
async function schemaOf(session: Session, control: AgentControl, tool: string): Promise<JsonSchema> {
  try {
    return (await session.attend('Looking', options => control.tool({ name: tool }, options))).input
  } catch (error) {
    if (isAppError(error) && REFUSED.has(error.code)) return {}
    throw error
  }
}

interface WrittenCall {
  readonly tool: string
  readonly input: Record<string, unknown>
  readonly options: CallOptions
  /** Whether a person is at the terminal who can be asked. */
  readonly mayAsk: boolean
}

/** By whom a call is made. */
interface Calling {
  readonly control: AgentControl
  /** All that the owner can ask, where it is the owner who calls. */
  readonly owner: Control | undefined
}

/** Calls a tool as an agent would, asks what has to be asked, prints the answer, and says how the command ends. */
export async function runCall(
  session: Session,
  { control, owner }: Calling,
  { tool, input, options, mayAsk }: WrittenCall,
): Promise<number> {
  const request = {
    agent: options.agent,
    tool,
    input,
    ...defined({
      evenIfDisabled: options.evenIfDisabled,
      whenDisabled: options.whenDisabled,
      timeoutMs: options.timeout,
      idempotencyKey: options.idempotencyKey,
      // Without a person here the call waits for one elsewhere, as an agent's call does.
      waits: mayAsk ? undefined : true,
    }),
  }
  const answer = await callWithConsent(session, control, request, mayAsk).catch(async error => {
    if (owner) session.hints = { ...session.hints, ...(await hintsAfter(session, owner, { ...request, error })) }
    throw error
  })
  if (answer.waiting) return await tellWaiting(session, { answer, waiting: answer.waiting, tool })
  await printResult(session, control, { answer, agent: options.agent, all: options.all === true })
  return answer.result.isError ? EXIT.no : EXIT.done
}

async function callWithConsent(
  session: Session,
  control: AgentControl,
  request: ControlInput<'call'>,
  mayAsk: boolean,
): Promise<CallAnswer> {
  const run = (input: ControlInput<'call'>) =>
    session.attend(`Calling ${request.tool}`, ({ aside, ...options }) => {
      const { tool } = request
      const openPage = (question: UrlQuestion, signal?: AbortSignal) =>
        aside(() => askToOpen(session, { tool, signal }, question))
      return control.call(input, mayAsk ? { ...options, openPage } : options)
    })
  try {
    return await run(request)
  } catch (error) {
    const asked = mayAsk ? consentAsked(error, request.tool) : undefined
    if (!asked) throw error
    if (!(await askConsent(session, request, asked))) {
      throw new AppError('CONSENT_DENIED', `You did not allow it, so "${request.tool}" was not run.`)
    }
    const operations = asked.operations.map(operation => operation.name)
    return await run({ ...request, consented: { operations, digest: asked.digest } })
  }
}

/** What can be said about any call, whatever it calls. */
export interface CallOptions {
  agent: string
  evenIfDisabled?: boolean
  whenDisabled?: WhenDisabled
  timeout?: number
  all?: boolean
  idempotencyKey?: string
}

/** Gives a command the options of a call. */
export function addCallOptions(command: Command): Command {
  return command
    .addOption(new CompletingOption('--agent <NAME>', 'the agent to call as', 'agent').default('default'))
    .addOption(
      new Option(
        '--when-disabled <WHAT>',
        'while something it needs is missing: fail, wait for it, or run anyway',
      ).choices(WhenDisabled.options),
    )
    .addOption(new Option('--even-if-disabled', 'the same as --when-disabled run').conflicts('whenDisabled'))
    .addOption(
      new Option('--timeout <DURATION>', "how long to wait, such as 30s; the tool's own limit holds too").argParser(
        durationOf(),
      ),
    )
    .addOption(
      new Option(
        '--idempotency-key <KEY>',
        'your name for this call: a repeat under it gets the first answer, and nothing is done twice',
      ).argParser(toKey),
    )
    .option('--all', 'print a result that was cut to its end (done automatically where standard output is no terminal)')
}

function toKey(text: string): string {
  const { data, error } = IdempotencyKey.safeParse(text)
  if (data === undefined) throw new InvalidArgumentError(`${error?.issues[0]?.message}.`)
  return data
}

/** A call that failed. */
interface FailedCall {
  readonly error: unknown
  readonly tool: string
  readonly agent: string
}

const NEEDS_CAPABILITY: ReadonlySet<ErrorCode> = new Set(['TOOL_NOT_FOUND', 'CONSENT_REQUIRED', 'AGENT_NOT_FOUND'])

/** What the next step behind a failed call names beside what was called. The owner, at the terminal, may know all of it. */
async function hintsAfter(session: Session, control: Control, call: FailedCall): Promise<Hints> {
  const { error, agent } = call
  // A program reads the error as it is.
  if (session.json || !isAppError(error) || !NEEDS_CAPABILITY.has(error.code)) return {}
  const name = error.code === 'CONSENT_REQUIRED' ? (toolOf(error) ?? call.tool) : call.tool
  const tool = await orNothing(session.attend('Looking', on => control.tool({ name }, on)))
  if (!tool) return {}
  const { capability } = tool
  if (error.code !== 'TOOL_NOT_FOUND') return { capability }
  return { capability, ...(await lackOf(session, control, { agent, tool })) }
}

/**
 * Why an agent does not have a tool that exists; nothing when it does have it, and the error means another. Asked without word of
 * progress, so that unrelated servers are not waited for.
 */
async function lackOf(
  session: Session,
  control: Control,
  { agent, tool: { name, ownName = name, capability } }: { agent: string; tool: ToolDetail },
): Promise<Hints> {
  const { signal } = session.host
  const check = await orNothing(session.attend('Looking', () => control.checkAgent({ name: agent }, { signal })))
  if (check?.ok === false) return { isAgentBroken: true }
  const own = (check?.report ?? []).filter(entry => entry.capability === capability).map(entry => entry.tool)
  if (own.includes(ownName)) return {}
  const all = await orNothing(session.attend('Looking', () => control.capabilities({}, { signal })))
  if (all?.every(({ key }) => key !== capability)) return { comesAlong: true }
  const agents = await orNothing(session.attend('Looking', () => control.agents({}, { signal })))
  const isNarrowed = agents?.some(each => each.name === agent && each.capabilities.includes(capability))
  // An agent that has the capability without the tool has it narrowed, and a grant keeps that unless it says otherwise.
  return { grant: isNarrowed ? { capability, tools: [...own, ownName] } : { capability } }
}

/** A hint that cannot be had is left out: the error before it is what must be told. */
function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch(() => undefined)
}

/** Shows a page that a call waits for, and asks whether the person has been there. Anything but a yes is a no. */
async function askToOpen(
  session: Session,
  { tool, signal }: { tool: string; signal: AbortSignal | undefined },
  { message, url }: UrlQuestion,
): Promise<Answer> {
  const { notices, host } = session
  const head = `${escapeLine(tool)} asks you to open a page:\n${paragraph(message, notices, '  ')}`
  await notices.write(`${head}  ${notices.paint.bold(escapeLine(url))}\n`)
  const prompt = 'Go on when you have been there? [y/N] '
  const either = signal ? AbortSignal.any([host.signal, signal]) : host.signal
  const answer = await session.untilAborted(host.io.stdin.question(prompt, { signal: either })).catch(async error => {
    if (host.signal.aborted || !signal?.aborted) throw error
    await notices.write('\nIt is not needed any more.\n')
    return undefined
  })
  if (answer === undefined) return { action: 'cancel' }
  return { action: /^y(es)?$/i.test(answer.trim()) ? 'accept' : 'decline' }
}

interface ResultToPrint {
  answer: CallAnswer
  agent: string
  /** Whether a cut result is read to its end on a terminal too. */
  all: boolean
}

/** Prints what a tool said: to standard output, or to standard error when it said no. */
async function printResult(
  session: Session,
  control: AgentControl,
  { answer, agent, all }: ResultToPrint,
): Promise<void> {
  if (session.json) return await session.printJson(answer)
  const { result, kept } = answer
  const printer = result.isError ? session.notices : session.out
  const writer = createTextWriter(printer, result.isError === true)
  if (kept && (all || !printer.isTerminal)) {
    await readOn(session, control, { agent, kept, write: writer.write })
  } else {
    await writer.write(resultText(result))
  }
  await writer.end()
  if (kept && !all && printer.isTerminal) await session.notices.write(`${cutNotice(kept)}\n`)
}

/**
 * On a terminal, what could steer it is made visible and the last line is ended; anywhere else every text goes out as it is.
 */
function createTextWriter(printer: Printer, isError: boolean) {
  let endsLine = true
  return {
    async write(text: string) {
      if (text === '') return
      endsLine = text.endsWith('\n')
      const shown = printer.isTerminal ? escapeBlock(text) : text
      await printer.write(isError ? printer.paint.red(shown) : shown)
    },
    async end() {
      if (!endsLine && printer.isTerminal) await printer.write('\n')
    },
  }
}

/** Reads a kept result from its beginning, because what was cut may carry a remark for the agent at its end. */
async function readOn(
  session: Session,
  control: AgentControl,
  { agent, kept, write }: { agent: string; kept: KeptResult; write(text: string): Promise<void> },
): Promise<void> {
  const { resultId, keptBytes, totalBytes } = kept
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const from: number = offset
    const page = await session.attend('Reading on', options =>
      control.readResult({ agent, resultId, offset: from }, options),
    )
    await write(page.text)
    // A page that leads nowhere new would be read for ever.
    offset = page.nextOffset !== undefined && page.nextOffset > from ? page.nextOffset : undefined
  }
  if (keptBytes < totalBytes)
    await session.notices.write(
      `Only ${sizeInWords(keptBytes)} of ${sizeInWords(totalBytes)} were kept; the rest is gone.\n`,
    )
}

function cutNotice({ nextOffset, totalBytes }: KeptResult): string {
  return `Cut at ${sizeInWords(nextOffset)} of ${sizeInWords(totalBytes)}. To see the rest, call it again with --all, or into a file or a pager.`
}
