import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { createWebClient } from '../adapters/http-client/index.ts'
import { program } from '../adapters/probes/index.ts'
import { loadProgramParts } from '../adapters/programs/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import http from '../capabilities/http/index.ts'
import programs from '../capabilities/program/index.ts'
import type { WebService } from '../core/catalogue/index.ts'
import { builtinUnit } from './builtin-unit.ts'
import { createHub, type Hub } from './hub.ts'
import type { TempProject } from './temp-project.ts'
import type { Said } from './tool-fixture.ts'

/** A tool as its declaration says it, beside what every declaration says. */
export interface Declared {
  readonly with: Record<string, unknown>
  readonly parameters?: Record<string, unknown>
  readonly [field: string]: unknown
}

/** A hub with one declared tool, `it`, which the agent `worker` has. */
export interface OpFixture {
  readonly hub: Hub
  call(input?: object, options?: { signal?: AbortSignal }): Promise<Said>
  /** What is wrong with the declaration, a sentence each. */
  problems(): string[]
}

export interface OpFixtureOptions {
  readonly secrets?: Record<string, string>
  /** Our own environment. */
  readonly env?: Record<string, string>
  /** How names become addresses. */
  readonly resolve?: (host: string) => Promise<{ address: string; family: number }[]>
  /** In place of real connections. */
  readonly web?: WebService
}

/** A tool of `op.http.request`. */
export async function httpFixture(
  declared: Declared,
  { secrets = {}, resolve, web }: OpFixtureOptions = {},
): Promise<OpFixture> {
  const real = createWebClient({ clock: createSystemClock(), resolve })
  onTestFinished(() => real.close())
  const unit = builtinUnit(http, { web: web ?? real, secrets: { get: name => secrets[name] } })
  return open({ http: unit }, { op: 'op.http.request', ...declared }, secrets)
}

/** A tool of `op.program.run`, in a project folder. */
export async function programFixture(
  declared: Declared,
  project: TempProject,
  { secrets = {}, env = {} }: OpFixtureOptions = {},
): Promise<OpFixture> {
  const { createProcessManager, createProgramRunner } = await loadProgramParts()
  const places = { projectDir: project.dir, dataDir: project.path('.quartermaster') }
  const clock = createSystemClock()
  const processes = createProcessManager({ clock, dataDir: places.dataDir })
  onTestFinished(() => processes.close())
  const run = createProgramRunner({ processes, clock, ...places })
  const fixture = { run, probe: (command: string) => program({ command }), variable: (name: string) => env[name] }
  const services = { programs: fixture }
  const unit = builtinUnit(programs, { ...services, paths: places, secrets: { get: name => secrets[name] } })
  return open({ program: unit }, { op: 'op.program.run', ...declared }, secrets)
}

async function open(
  builtin: Record<string, ReturnType<typeof builtinUnit>>,
  declared: Record<string, unknown>,
  secrets: Record<string, string>,
): Promise<OpFixture> {
  const front = { schema: 1, short: 'Does it.', ...declared }
  const hub = await createHub({
    builtin,
    units: { 'knowledge/desk/it.md': { written: [{ path: 'desk/it', front, body: '' }] } },
    agents: { worker: { capabilities: { desk: {} } } },
    secrets,
  })
  await hub.health.probeNew()
  return {
    hub,
    async call(input = {}, options = {}) {
      const { result } = await hub.callAs('worker', 'it', input, options)
      const texts = result.content.flatMap(block => (block.type === 'text' ? [block.text] : []))
      const data = (result.structuredContent ?? {}) as Record<string, unknown>
      return { ok: !result.isError, text: texts.join('\n'), data, result }
    },
    problems: () => hub.catalogue.problems().map(({ message }) => message),
  }
}

/** A request as a server saw it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface TestSite {
  /** `http://localhost:1234`, a name that leads inside. */
  readonly origin: string
  readonly port: number
  readonly seen: Seen[]
}

/** A real server on this machine, and all that it was asked. */
export async function testSite(answer: (seen: Seen, response: ServerResponse) => void): Promise<TestSite> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: Buffer.concat(parts).toString() }
    seen.push(one)
    answer(one, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://localhost:${port}`, port, seen }
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
