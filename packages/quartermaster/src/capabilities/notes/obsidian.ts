import { readdir, readFile } from 'node:fs/promises'
import { type DependencyDefinition, defineDependency, type Secrets } from '../../core/catalogue/index.ts'
import type { NotesConfig, RestConfig } from './config.ts'
import { ObsidianUnavailable } from './disk-store.ts'
import type { ObsidianClient } from './obsidian-client.ts'

/** What the dependency is called, in `status` and in the project's configuration. */
export const OBSIDIAN = 'obsidian'

/** The Obsidian servers that agents have configured, and whether they work. */
export interface Obsidian {
  /** One dependency for all of them: definitions are made once, and configurations come and go with agents. */
  readonly dependency: DependencyDefinition
  /** Records the configuration of an agent. Connects to nothing. */
  use(agent: string, config: NotesConfig): void
  /** A client connected to the right vault. Throws `ObsidianUnavailable`; for a while after a failure, without trying. */
  open(config: ObsidianServer, signal: AbortSignal): Promise<ObsidianClient>
  /** Reports that a call failed. The server is checked again at once, and for a while calls go by disk. */
  report(config: ObsidianServer, reason: string): void
}

/** Where one vault is served. */
export type ObsidianServer = Pick<NotesConfig, 'vault' | 'label'> & { readonly rest: RestConfig }

export interface ObsidianDeps {
  secrets: Secrets
  /** Whether the owner has switched the dependency off. */
  isOptedOut(): boolean
  now?(): number
}

// A call must not wait for an Obsidian that has just hung in the call before.
const PAUSE_MS = 5_000

export function createObsidian({ secrets, isOptedOut, now = Date.now }: ObsidianDeps): Obsidian {
  const used = new Map<string, ObsidianServer>()
  const troubles = new Map<string, { reason: string; until: number }>()
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of [...listeners]) listener()
  }

  async function reach(way: ObsidianServer, signal: AbortSignal): Promise<ObsidianClient> {
    const client = await connect(way, secrets, signal)
    try {
      await client.greet()
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
    tell()
  }

  async function troubleOf(way: ObsidianServer, signal: AbortSignal): Promise<string | undefined> {
    try {
      const client = await reach(way, signal)
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
      if (after && (!before || keyOf(after) !== keyOf(before))) tell()
    },
    async open(way, signal) {
      if (isOptedOut())
        throw new ObsidianUnavailable(`The dependency "${OBSIDIAN}" is switched off in the configuration.`, {
          isKnown: true,
        })
      const trouble = troubles.get(keyOf(way))
      if (trouble && now() < trouble.until) throw new ObsidianUnavailable(trouble.reason, { isKnown: true })
      return reach(way, signal)
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
          const troubles = await Promise.all([...ways.values()].map(way => troubleOf(way, signal)))
          const reasons = new Set(troubles.filter(trouble => trouble !== undefined))
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
