import { type Command, InvalidArgumentError, Option } from 'commander'
import { IdempotencyKey, WhenDisabled } from '../../contracts/index.ts'
import { CompletingOption } from './completion/kinds.ts'
import { parseDuration } from './duration.ts'

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
