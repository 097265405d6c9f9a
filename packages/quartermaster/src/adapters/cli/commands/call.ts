import { type AgentControl, type ErrorCode, isAppError, type JsonSchema } from '../../../contracts/index.ts'
import { buildObject, parseObject, readArguments, type WrittenArguments } from '../arguments.ts'
import { addCallOptions, type CallOptions } from '../call-options.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { canAsk } from '../consent.ts'
import { addExamples, type Register } from '../register.ts'
import { runCall } from '../run-call.ts'
import type { Session } from '../session.ts'

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

/** What it takes. Of a tool that is held back or not there nobody needs to know: its call is refused, and is on record as such. */
async function schemaOf(session: Session, control: AgentControl, tool: string): Promise<JsonSchema> {
  try {
    return (await session.attend('Looking', options => control.tool({ name: tool }, options))).input
  } catch (error) {
    if (isAppError(error) && REFUSED.has(error.code)) return {}
    throw error
  }
}
