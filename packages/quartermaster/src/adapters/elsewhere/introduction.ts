import { escapeLine } from '../../core/kernel/index.ts'
import type { Incoming } from '../mcp-bridge/index.ts'
import { isRecord, type Params, type Request, type Response } from '../mcp-wire/index.ts'
import { stateText } from './answers.ts'
import { type Arrivals, CHANNEL_CAPABILITY } from './arrivals.ts'
import type { Directory } from './directory.ts'
import type { Workspace } from './workspace.ts'

interface Introduction {
  readonly request: Request
  readonly instructions: string
  /** Arrivals are announced as Claude Code takes them. */
  readonly isChannel: boolean
  readonly version: string
}

/** The newest version with sessions, for a client whose servers all are out of reach. */
const LEGACY_VERSION = '2025-11-25'

/** The answers of several servers to `initialize` as one: the oldest version among them, and what any of them can do. */
export function mergedInitialization(results: readonly Params[], introduction: Introduction): object {
  const { protocolVersion: wanted } = introduction.request.params ?? {}
  const versions = results.flatMap(({ protocolVersion }) =>
    typeof protocolVersion === 'string' ? protocolVersion : [],
  )
  const [oldest = typeof wanted === 'string' && wanted < LEGACY_VERSION ? wanted : LEGACY_VERSION] = versions.sort()
  return { protocolVersion: oldest, ...describe(results, introduction) }
}

/** The same for clients without sessions. Nothing is kept: the next answer may know more workspaces. */
export function mergedDiscovery(results: readonly Params[], introduction: Introduction): object {
  const { serverInfo, ...described } = describe(results, introduction)
  const _meta = { [SERVER_INFO]: serverInfo }
  return { supportedVersions: ['2026-07-28'], ...described, ttlMs: 0, cacheScope: 'private', _meta }
}

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

function describe(results: readonly Params[], { instructions, isChannel, version }: Introduction) {
  const offered = results.map(({ capabilities }) => capabilities).filter(isRecord)
  const capabilities = [OWN, ...(isChannel ? [{ experimental: CHANNEL_CAPABILITY }] : []), ...offered].reduce(union)
  return { capabilities, serverInfo: { name: 'quartermaster', version }, instructions }
}

const OWN: Params = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
}

function union(one: Params, other: Params): Params {
  const entries = Object.entries(other).map(([key, value]) => {
    const before = one[key]
    return [key, isRecord(before) && isRecord(value) ? union(before, value) : (value ?? before)] as const
  })
  return { ...one, ...Object.fromEntries(entries) }
}

/** One server cannot speak for another, nor fill the context of the agent. */
function quoted(instructions: string): string {
  const words = instructions.length > MOST_WORDS ? `${instructions.slice(0, MOST_WORDS)}…` : instructions
  return words
    .split('\n')
    .map(line => `> ${escapeLine(line)}`)
    .join('\n')
}

const MOST_WORDS = 8_000

/** What an agent with several workspaces needs to know, followed by what each of them says. */
export function instructionsFor(directory: Directory, results: ReadonlyMap<Workspace, Params>): string {
  const { all, labelOf } = directory
  const said = all.flatMap(workspace => {
    const instructions = results.get(workspace)?.instructions
    return typeof instructions === 'string'
      ? [`The server of your workspace ${labelOf(workspace)} says:\n${quoted(instructions)}`]
      : []
  })
  return [
    `You take part in ${all.length} workspaces at once, of people who need not know each other. What you learn in one is not for the others, unless a person there tells you to pass it on.`,
    all.map(workspace => `- ${labelOf(workspace)}: ${stateText(workspace)}`).join('\n'),
    'wait_for_message gives the oldest message of all of them: call it whenever you have nothing else to do. arrival_workspace_id says where it came from. Until you have answered it with reply, or taken it out with inbox_pop, what you send, remember and look up without a workspace_id is done there; otherwise say workspace_id. get_status says which workspaces are reached.',
    ...said,
  ].join('\n\n')
}

/** Tells Claude Code that messages are announced to it. */
export function withChannel(
  incoming: Incoming<Response>,
  { isChannel }: Pick<Arrivals, 'isChannel'>,
): Incoming<Response> | Pick<Response, 'result'> {
  const { result } = incoming.message
  if (!isChannel() || !isRecord(result) || !isRecord(result.capabilities)) return incoming
  return { result: { ...result, capabilities: union(result.capabilities, { experimental: CHANNEL_CAPABILITY }) } }
}
