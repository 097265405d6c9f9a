import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import type { ResolutionEntry, ReviewItem } from '../../src/contracts/index.ts'
import { onEnd } from '../../src/testing/shared-fixture.ts'
import { freshFolder } from '../../src/testing/store-contract/stage.ts'
import {
  type ClientEra,
  ILL_SERVER,
  openFixture,
  program,
  SDK_SERVER,
  startHttpServer,
  type UpstreamFixture,
} from './upstream-fixture.ts'
export type Definition = Readonly<Record<string, unknown>> & { readonly name: string }

/** A definition without findings. */
export function definition(name: string, more: Readonly<Record<string, unknown>> = {}): Definition {
  const inputSchema = { type: 'object', properties: { path: { type: 'string', description: 'Which note.' } } }
  return { name, description: `About ${name}.`, inputSchema, annotations: { readOnlyHint: true }, ...more }
}

/** A server that lists whatever it is told to. */
export interface Listing {
  /** Its entry in the configuration. */
  readonly entry: ReturnType<typeof program>
  /** It lists these from now on, and tells so. */
  say(...tools: Definition[]): Promise<void>
}

export async function listing(tools: readonly Definition[], ...flags: string[]): Promise<Listing> {
  const { flag, say } = await definitionsFile(tools)
  return { entry: program(ILL_SERVER, flag, ...flags), say }
}

/** How a server is reached, and what it speaks. */
export interface Way {
  readonly transport: 'stdio' | 'http'
  readonly era: 'legacy' | 'modern'
}

/** The same with the ordinary server, which knows every way. */
export async function listingBy({ transport, era }: Way, tools: readonly Definition[]) {
  const { flag, say } = await definitionsFile(tools)
  const entry = transport === 'http' ? { url: (await startHttpServer(flag)).url } : program(SDK_SERVER, flag)
  return { entry: { ...entry, era }, say }
}

async function definitionsFile(tools: readonly Definition[]): Promise<{ flag: string; say: Listing['say'] }> {
  const file = join(await freshFolder(), 'tools.json')
  const say = async (...now: Definition[]) => {
    // In one step: a server that reads half of it would fall over.
    await writeFile(`${file}.new`, JSON.stringify(now))
    await rename(`${file}.new`, file)
  }
  await say(...tools)
  return { flag: `--definitions=${file}`, say }
}

/** An `up` whose upstream `desk` lists what it is told to, seen for the first time with `tools`. */
export interface ListingFixture extends UpstreamFixture {
  readonly say: Listing['say']
  review(): Promise<ReviewItem[]>
  report(): Promise<ResolutionEntry[]>
}

export interface ListingOptions {
  readonly config?: Record<string, unknown>
  readonly flags?: readonly string[]
}

export async function openListingFixture(
  tools: readonly Definition[],
  { config = {}, flags = [] }: ListingOptions = {},
): Promise<ListingFixture> {
  const { entry, say } = await listing(tools, ...flags)
  const fixture = await openFixture({ mcpServers: { desk: { ...entry, era: 'legacy', ...config } } })
  await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('up')
  return {
    ...fixture,
    say,
    review: async () => (await fixture.run('upstreams', 'review', '--json')).json<ReviewItem[]>(),
    report: async () =>
      (await fixture.run('agents', 'check', 'default', '--json')).json<{ report: ResolutionEntry[] }>().report,
  }
}

/** A client that counts how often it was told to list again. */
export async function watchingClient(fixture: UpstreamFixture) {
  const seen = { changes: 0 }
  const client = await fixture.connect('auto', { listChanged: { tools: { onChanged: () => void seen.changes++ } } })
  return { client, seen, names: () => namesOf(client) }
}

/** A client that lists as often as it can and whenever it is told to, and keeps all that it was ever shown. */
export interface RecordingClient {
  readonly client: Client
  /** The names in the list that it was shown last. */
  names(): string[]
  /** Whether these words were in any of its lists. */
  hasSeen(words: string): boolean
  /** Ends it when one more list has come. */
  stop(): Promise<void>
}

export async function recordingClient(fixture: UpstreamFixture, era: ClientEra): Promise<RecordingClient> {
  const shown = new Set<string>()
  let last: readonly { name: string }[] = []
  const keep = (tools: typeof last) => {
    last = tools
    shown.add(JSON.stringify(tools))
  }
  const client = await fixture.connect(era, {
    listChanged: { tools: { debounceMs: 0, onChanged: (_error, tools) => tools && keep(tools) } },
  })
  const over = new AbortController()
  const look = async () => keep((await client.listTools(undefined, { cacheMode: 'bypass' })).tools)
  const looking = (async () => {
    while (!over.signal.aborted) await look()
    await look()
  })()
  const stop = () => {
    over.abort()
    return looking
  }
  onEnd(stop)
  return {
    client,
    names: () => last.map(({ name }) => name),
    hasSeen: words => [...shown].some(list => list.includes(words)),
    stop,
  }
}

export async function namesOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(tool => tool.name)
}
