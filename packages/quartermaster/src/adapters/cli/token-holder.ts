import type { Command } from 'commander'
import { AppError } from '../../contracts/index.ts'
import { defined } from './defined.ts'
import { UsageError } from './errors.ts'
import type { CliHost } from './host.ts'

type Environment = CliHost['io']['env']

/** Commands that an agent has with its token, by their words. */
const OF_AGENTS: ReadonlySet<string> = new Set(['do', 'call', 'tools', 'prompt', 'docs'])

/** Commands that a person has with theirs, with all below them. */
const OF_PERSONS: ReadonlySet<string> = new Set(['approvals', 'grants'])

/** Commands that act for nobody: a script for the shell, and what it asks. */
const OF_NOBODY: ReadonlySet<string> = new Set(['completion', '__complete'])

/** What the owner of the data folder may say about a call, and nobody else. */
const OF_THE_OWNER = { agent: '--agent', timeout: '--timeout', evenIfDisabled: '--even-if-disabled' } as const

/**
 * Whoever the environment speaks for. A token that is empty, or an address without one, is a mistake and must not end with the
 * owner's word.
 */
export function tokenIn(env: Environment, given: string | undefined): { token: string; url?: string } | undefined {
  const { QUARTERMASTER_TOKEN: token, QUARTERMASTER_URL: fromEnv } = env
  const url = given ?? fromEnv
  if (token !== undefined && token.trim() !== '') return defined({ token: token.trim(), url })
  if (token !== undefined)
    throw new UsageError('QUARTERMASTER_TOKEN is empty. Put a token of yours into it, or unset it to act as the owner.')
  if (url !== undefined)
    throw new UsageError(
      `${given === undefined ? 'QUARTERMASTER_URL' : '--url'} needs a token of yours in QUARTERMASTER_TOKEN.`,
    )
  return undefined
}

/** Refuses what is the owner's where a token says that somebody else speaks, before anything is opened. */
export function refuseOwners(command: Command, env: Environment): void {
  if (env.QUARTERMASTER_TOKEN === undefined) return
  tokenIn(env, undefined)
  const words = wordsOf(command)
  const [first = ''] = words
  if (OF_PERSONS.has(first) || OF_NOBODY.has(first)) return
  const line = words.join(' ')
  if (!OF_AGENTS.has(line)) throw ownersAlone(`"quartermaster ${line}"`)
  for (const [name, flag] of Object.entries(OF_THE_OWNER))
    if (command.getOptionValueSource(name) === 'cli') throw ownersAlone(flag)
}

export function ownersAlone(what: string): AppError {
  const message = `${what} is for the owner of the data folder, and the token in QUARTERMASTER_TOKEN is not the owner's.`
  return new AppError('REQUEST_REFUSED', `${message} Ask the owner.`)
}

function wordsOf(command: Command): string[] {
  return command.parent ? [...wordsOf(command.parent), command.name()] : []
}
