import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { httpEndpoint } from '../../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { freshFolder } from '../../src/testing/store-contract/stage.ts'
import { ILL_SERVER, program } from './upstream-fixture.ts'

/** What a server answers to the letter, by method. */
export type Answers = Readonly<Record<string, string>>

export interface LiteralOptions {
  readonly era: 'legacy' | 'modern'
  readonly transport: 'stdio' | 'http'
}

/** A server that answers with these letters, as an entry of `mcpServers`. */
export async function literalServer(answers: Answers, { era, transport }: LiteralOptions): Promise<object> {
  const all = { ...greeting(era), ...answers }
  if (transport === 'http') return { url: await startOverHttp(all), era }
  const file = join(await freshFolder(), 'answers.json')
  await writeFile(file, JSON.stringify(all))
  return { ...program(ILL_SERVER, `--answers=${file}`), era }
}

function greeting(era: LiteralOptions['era']): Answers {
  const facts = {
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    serverInfo: { name: 'literal', version: '1' },
  }
  return era === 'modern'
    ? { 'server/discover': JSON.stringify({ supportedVersions: ['2026-07-28'], ...facts }) }
    : { initialize: JSON.stringify({ protocolVersion: '2025-11-25', ...facts }), ping: '{}' }
}

async function startOverHttp(answers: Answers): Promise<string> {
  const { url } = await httpEndpoint(({ method, body, response, json }) => {
    if (method !== 'POST') return json(405)
    if (body.id === undefined) return json(202)
    const id = JSON.stringify(body.id)
    const said = answers[String(body.method)]
    const answer = said === undefined ? '"error":{"code":-32601,"message":"No such method"}' : `"result":${said}`
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"jsonrpc":"2.0","id":${id},${answer}}`)
  })
  return url
}
