import { readdir, readFile } from 'node:fs/promises'
import { type DependencyDefinition, defineDependency, type Secrets } from '../../core/catalogue/index.ts'
import type { NotesConfig, RestConfig } from './config.ts'
import { ObsidianUnavailable } from './disk-store.ts'
import type { ObsidianClient } from './obsidian-client.ts'

export const OBSIDIAN = 'obsidian'

/** The Obsidian servers that agents have configured, and whether they work. */
export interface Obsidian {
  /** One dependency for all servers: definitions are made once, configurations change with the agents. */
  readonly dependency: DependencyDefinition
  /** Records the configuration of an agent. Connects to nothing. */
  use(agent: string, config: NotesConfig): void
  /** A client connected to the right vault. Throws `ObsidianUnavailable`; shortly after a failure without trying. */
  open(config: ObsidianServer, signal: AbortSignal): Promise<ObsidianClient>
  /** Reports a failed call. The server is checked again at once; meanwhile calls use the disk. */
  report(config: ObsidianServer, reason: string): void
}

export type ObsidianServer = Pick<NotesConfig, 'vault' | 'label'> & { readonly rest: RestConfig }

export interface ObsidianDeps {
  secrets: Secrets
  isOptedOut(): boolean
  now?(): number
}

// A call must not wait for an Obsidian that hung in the call before.
const PAUSE_MS = 5_000

export function createObsidian({ secrets, isOptedOut, now = Date.now }: ObsidianDeps): Obsidian {
  const used = new Map<string, ObsidianServer>()
  const troubles = new Map<string, { reason: string; until: number }>()
  const listeners = new Set<() => void>()
  const notify = () => {
    for (const listener of [...listeners]) listener()
  }

  async function connectVerified(way: ObsidianServer, signal: AbortSignal): Promise<ObsidianClient> {
    const client = await connect(way, secrets, signal)
    try {
      await client.verify()
      await refuseOtherVault(client, way)
      troubles.delete(keyOf(way))
      return client
    } catch (error) {
      client.close()
      throw error
    }
  }

  function report(way: ObsidianServer, reason: string): void {
    troubles.set(keyOf(way), { reason, until: now() + PAUSE_MS })
    notify()
  }

  async function failureOf(way: ObsidianServer, signal: AbortSignal): Promise<string | undefined> {
    try {
      const client = await connectVerified(way, signal)
      client.close()
      return undefined
    } catch (error) {
      if (!(error instanceof ObsidianUnavailable)) throw error
      return error.message
    }
  }

  return {
    report,
    use(agent, { vault, label, rest }) {
      const before = used.get(agent)
      if (rest) used.set(agent, { vault, label, rest })
      else used.delete(agent)
      const after = used.get(agent)
      if (after && (!before || keyOf(after) !== keyOf(before))) notify()
    },
    async open(way, signal) {
      if (isOptedOut())
        throw new ObsidianUnavailable(`The dependency "${OBSIDIAN}" is switched off in the configuration.`, {
          isKnown: true,
        })
      const failure = troubles.get(keyOf(way))
      if (failure && now() < failure.until) throw new ObsidianUnavailable(failure.reason, { isKnown: true })
      return connectVerified(way, signal)
    },
    dependency: defineDependency({
      name: OBSIDIAN,
      title: 'Obsidian',
      fix:
        'Start Obsidian with this vault and its Local REST API plugin, or correct "rest" in the agent\'s file. ' +
        'Until then notes are read and written on disk.',
      isUsed: () => used.size > 0,
      onChange(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      probe: {
        describe: { kind: 'obsidian' },
        async run({ signal }) {
          const ways = new Map([...used.values()].map(way => [keyOf(way), way]))
          const troubles = await Promise.all([...ways.values()].map(way => failureOf(way, signal)))
          const reasons = new Set(troubles.filter(failure => failure !== undefined))
          return reasons.size === 0 ? { up: true } : { up: false, reason: [...reasons].join(' ') }
        },
      },
    }),
  }
}

function keyOf({ vault, rest }: ObsidianServer): string {
  return JSON.stringify([vault, rest.url, rest.secret, rest.certificate])
}

async function connect({ rest }: ObsidianServer, secrets: Secrets, signal: AbortSignal): Promise<ObsidianClient> {
  const key = secrets.get(rest.secret)
  if (key === undefined)
    throw new ObsidianUnavailable(`There is no secret "${rest.secret}" with the key of Obsidian's plugin.`)
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ObsidianUnavailable(`The secret "${rest.secret}" has characters that no key has.`)
  const certificate = rest.certificate === undefined ? undefined : await readCertificate(rest.certificate)
  // Loaded when first needed: most projects have no Obsidian.
  const { createObsidianClient } = await import('./obsidian-client.ts')
  return createObsidianClient({ url: rest.url, key, certificate, signal })
}

async function readCertificate(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new ObsidianUnavailable(
      'The file with the certificate of Obsidian\'s plugin cannot be read; correct "certificate".',
      {
        cause,
      },
    )
  }
}

/** A write into another vault would damage that vault, and the note would not be found there. */
async function refuseOtherVault(client: ObsidianClient, { vault, label }: ObsidianServer): Promise<void> {
  const [served, entries] = await Promise.all([client.topNames(), readdir(vault).catch(() => [])])
  const here = new Set(entries.map(name => name.normalize('NFC')))
  if (served.some(name => !here.has(name.normalize('NFC'))))
    throw new ObsidianUnavailable(`Obsidian has another vault open than "${label}".`)
}
