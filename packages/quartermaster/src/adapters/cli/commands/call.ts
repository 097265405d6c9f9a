import { InvalidArgumentError, Option } from 'commander'
import {
  AppError,
  type CallAnswer,
  type Control,
  type ControlInput,
  IdempotencyKey,
  type UrlQuestion,
} from '../../../contracts/index.ts'
import { buildObject, parseObject, readArguments, type WrittenArguments } from '../arguments.ts'
import { hintsAfter } from '../call-hints.ts'
import { CompletingArgument, CompletingOption } from '../completion/kinds.ts'
import { askConsent, canAsk, consentAsked } from '../consent.ts'
import { defined } from '../defined.ts'
import { parseDuration } from '../duration.ts'
import { EXIT } from '../errors.ts'
import { askToOpen } from '../open-page.ts'
import { printResult } from '../print-result.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { tellWaiting } from '../waiting-text.ts'

interface CallOptions {
  agent: string
  evenIfDisabled?: boolean
  timeout?: number
  all?: boolean
  idempotencyKey?: string
}

export const registerCall: Register = (program, act) => {
  const command = program
    .command('call')
    .description(
      'Call a tool as an agent would, through the same checks. Ends with 1 when the tool says no, with 14 when it has to wait.',
    )
    .addArgument(new CompletingArgument('<TOOL>', 'its name', 'tool'))
    .argument('[ARGUMENTS...]', 'one JSON object, key=value pairs (a.b=1 goes inside), or - for JSON on standard input')
    .addOption(new CompletingOption('--agent <NAME>', 'the agent to call as', 'agent').default('default'))
    .option('--even-if-disabled', 'run it although something it needs is missing')
    .addOption(
      new Option('--timeout <DURATION>', "how long it may run, such as 30s (default: the tool's own limit)").argParser(
        toMs,
      ),
    )
    .addOption(
      new Option(
        '--idempotency-key <KEY>',
        'your name for this call: a repeat under it gets the first answer, and nothing is done twice',
      ).argParser(toKey),
    )
    .option('--all', 'print a result that was cut to its end (done by itself where standard output is no terminal)')
    .action((tool: string, words: string[], options: CallOptions) =>
      act(session => call(session, tool, words, options)),
    )
  addExamples(command, [
    ['quartermaster call read_file path=notes.txt', 'arguments as pairs'],
    [`quartermaster call search_files '{"query":"budget"}' --agent researcher`, 'as one JSON object, as another agent'],
    ['quartermaster call send_report to=team --idempotency-key report-2026-11', 'once, however often it is run'],
    ['jq -n \'{path: "notes.txt"}\' | quartermaster call read_file - --json', 'from a program, for a program'],
  ])
}

function toMs(text: string): number {
  const parsed = parseDuration(text)
  if ('problem' in parsed) throw new InvalidArgumentError(parsed.problem)
  return parsed.ms
}

function toKey(text: string): string {
  const { data, error } = IdempotencyKey.safeParse(text)
  if (data === undefined) throw new InvalidArgumentError(`${error?.issues[0]?.message}.`)
  return data
}

async function call(session: Session, tool: string, words: readonly string[], options: CallOptions): Promise<number> {
  session.hints = { tool, agent: options.agent }
  const written = readArguments(words)
  return await session.connect(async control => {
    const input = await toInput(session, control, tool, written)
    const mayAsk = written.kind !== 'stdin' && canAsk(session)
    const request = {
      agent: options.agent,
      tool,
      input,
      ...defined({
        evenIfDisabled: options.evenIfDisabled,
        timeoutMs: options.timeout,
        idempotencyKey: options.idempotencyKey,
        // Nobody is here who could be asked, so somebody else may be, as for an agent.
        waits: mayAsk ? undefined : true,
      }),
    }
    const answer = await callWithConsent(session, control, request, mayAsk).catch(async error => {
      session.hints = { ...session.hints, ...(await hintsAfter(session, control, { ...request, error })) }
      throw error
    })
    if (answer.waiting) return await tellWaiting(session, { answer, waiting: answer.waiting, tool })
    await printResult(session, control, { answer, agent: options.agent, all: options.all === true })
    return answer.result.isError ? EXIT.no : EXIT.done
  })
}

async function toInput(
  session: Session,
  control: Control,
  tool: string,
  written: WrittenArguments,
): Promise<Record<string, unknown>> {
  if (written.kind === 'stdin')
    return parseObject(await session.untilAborted(session.host.io.stdin.read()), 'Standard input')
  if (written.kind === 'json') return parseObject(written.text, 'The argument')
  if (written.pairs.length === 0) return {}
  const { input } = await session.attend('Looking', options => control.tool({ name: tool }, options))
  return buildObject(written.pairs, input)
}

async function callWithConsent(
  session: Session,
  control: Control,
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
