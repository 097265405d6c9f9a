import { stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import type { HttpUpstream, StdioUpstream, UpstreamConfig } from '../../../contracts/index.ts'
import { type Clock } from '../../../core/kernel/index.ts'
import { targetText } from '../../../core/secrets/index.ts'
import type { UpstreamLogin } from '../../../core/upstreams/index.ts'
import { type ProcessManager, programPlaces, workingFolder } from '../../programs/index.ts'
import type { UpstreamAuth } from '../oauth/upstream-auth.ts'
import type { OpenChannel } from '../peer/channel.ts'
import { boundedChannel, maskedChannel } from '../transport/channel-filters.ts'
import type { ChildLog } from '../transport/child-log.ts'
import { openHttpChannel } from '../transport/http-channel.ts'
import { createSessionRenewalLimit, type SessionRenewalLimit } from '../transport/http-rejections.ts'
import { keySettings } from '../transport/http-sender.ts'
import { openStdioChannel } from '../transport/stdio-channel.ts'
import { wrongEntry } from '../upstream-entry.ts'

export interface TargetDeps {
  readonly name: string
  readonly config: UpstreamConfig
  readonly projectDir: string
  readonly dataDir: string
  readonly clock: Clock
  readonly processes: ProcessManager
  readonly auth: UpstreamAuth
  readonly log: ChildLog
  hasAgent(name: string): Promise<boolean>
}

/** Where a server is and how to connect to it, by its configuration. */
export function targetOf(deps: TargetDeps): Target {
  const { config } = deps
  if (config.wrong !== undefined) return noTarget(deps.name, config.wrong)
  return 'command' in config ? stdioTarget(deps, config) : httpTarget(deps, config)
}

/** For a wrong entry. */
function noTarget(name: string, wrong: string): Target {
  const error = wrongEntry(name, wrong)
  return {
    transport: 'stdio',
    text: '',
    open: () => () => Promise.reject(error),
    fingerprint: async () => '',
    hasForAll: async () => false,
    agentsSignedIn: async () => [],
  }
}

function stdioTarget({ projectDir, dataDir, clock, processes, log }: TargetDeps, config: StdioUpstream): Target {
  const { command, args, env, cwd } = config
  const folder = resolve(projectDir, cwd ?? '.')
  return {
    transport: 'stdio',
    text: targetText(config, log.redact),
    open: agent => {
      const own = agent === undefined ? {} : config.agents[agent]?.env
      const program = { command, args, env: { ...env, ...own }, clock, processes, log }
      // The folder may have been made or replaced since the last start.
      const open: OpenChannel = async (events, signal) =>
        openStdioChannel({ ...program, cwd: await workingFolder({ cwd, projectDir, dataDir }) })(events, signal)
      return maskedChannel(boundedChannel(open, log), log)
    },
    fingerprint: () =>
      fingerprintOf([
        folder,
        ...programPlaces(command, folder).slice(0, MOST_LOOKED_AT),
        ...args
          .slice(0, MOST_LOOKED_AT)
          .flatMap(placesIn)
          .map(place => resolve(folder, place)),
      ]),
    hasForAll: async () => false,
    agentsSignedIn: async () => [],
  }
}

/** The possible paths in an argument: the whole argument, or the part after `--file=`. */
function placesIn(argument: string): string[] {
  const [, value] = /^[^=/\\]*=(.+)$/s.exec(argument) ?? []
  return value === undefined ? [argument] : [argument, value]
}

/** Limits the fingerprint: a script is among the first arguments. */
const MOST_LOOKED_AT = 64

async function fingerprintOf(paths: readonly string[]): Promise<string> {
  const looks = paths.map(path =>
    stat(path).then(
      // Changes inside a folder have nothing to do with the server.
      found => (found.isFile() ? `${found.ino}:${found.size}:${found.mtimeMs}` : `${found.ino}`),
      () => '-',
    ),
  )
  return (await Promise.all(looks)).join(' ')
}

function httpTarget(deps: TargetDeps, config: HttpUpstream): Target {
  const { name, auth, log, hasAgent } = deps
  const { url, headers } = config
  const { protocol, hostname, port } = new URL(url)
  return {
    transport: 'http',
    text: targetText(config, log.redact),
    open: httpChannels(deps, config),
    fingerprint: async () => {
      const server = await isOpen(hostname, Number(port) || (protocol === 'https:' ? 443 : 80))
      // Without a token from the issuer no connection works, however well the server is.
      return `${server} ${auth.isIssuerAway(name) ? 'issuer-away' : '-'}`
    },
    async hasForAll() {
      return keySettings({ url, headers }).length > 0 || auth.isSignedIn({ upstream: name }, config)
    },
    async agentsSignedIn() {
      const agents = await auth.agentsAt(name)
      // A removed agent's login stays until it is signed out, and is not used meanwhile.
      const areThere = await Promise.all(agents.map(hasAgent))
      return agents.filter((_, index) => areThere[index])
    },
  }
}

function httpChannels({ name, clock, auth, log }: TargetDeps, config: HttpUpstream): Target['open'] {
  const { url, headers } = config
  const logLine = (text: string) => log.add('gateway', text)
  const renewalLimit = new Map<string | undefined, SessionRenewalLimit>()
  const trialsOf = (agent: string | undefined) => {
    const known = renewalLimit.get(agent) ?? createSessionRenewalLimit(clock)
    renewalLimit.set(agent, known)
    return known
  }
  return agent => {
    const owner = agent === undefined ? { upstream: name } : { upstream: name, agent }
    const own = agent === undefined ? {} : (config.agents[agent]?.headers ?? {})
    const way = {
      name,
      url,
      headers: sentHeaders(headers, own),
      settingOf: (header: string) =>
        Object.hasOwn(own, header) ? `agents.${agent}.headers.${header}` : `headers.${header}`,
      renewalLimit: trialsOf(agent),
      clock,
      log: logLine,
    }
    // Each channel keeps the login that it was opened with.
    const open: OpenChannel = (events, signal) =>
      openHttpChannel({ ...way, auth: auth.for(owner, config, login => hideLogin(login, log)) })(events, signal)
    return maskedChannel(boundedChannel(open, log), log)
  }
}

/** An agent's own headers go before the shared ones, however their names are written. */
function sentHeaders(shared: Readonly<Record<string, string>>, own: Readonly<Record<string, string>>) {
  const owned = new Set(Object.keys(own).map(name => name.toLowerCase()))
  const left = Object.entries(shared).filter(([name]) => !owned.has(name.toLowerCase()))
  return { ...Object.fromEntries(left), ...own }
}

function hideLogin({ accessToken, refreshToken, client }: UpstreamLogin, log: ChildLog): void {
  const { client_secret: secret } = client
  log.hide(accessToken, refreshToken, typeof secret === 'string' ? secret : undefined)
}

const CONNECT_MS = 500

function isOpen(host: string, port: number): Promise<string> {
  return new Promise(done => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port })
    const end = (state: string) => {
      socket.destroy()
      done(state)
    }
    socket.setTimeout(CONNECT_MS, () => end('closed'))
    socket.once('connect', () => end('open'))
    socket.once('error', () => end('closed'))
  })
}

export interface Target {
  readonly transport: 'stdio' | 'http'
  /** For people: the program and its arguments, or the address, without secrets. */
  readonly text: string
  /** Uses the agent's own credentials if it has some. */
  open(agent: string | undefined): OpenChannel
  /** A cheap view of the server from outside: after a change starting may work. */
  fingerprint(): Promise<string>
  /** Whether there are shared credentials: a key in the entry, or a login. */
  hasForAll(): Promise<boolean>
  /** Existing agents with a login, in addition to the configured ones. */
  agentsSignedIn(): Promise<readonly string[]>
}
