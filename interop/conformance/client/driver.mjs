// The client that the suite starts for each scenario. It hands the scenario to the desk that runs the product, and ends
// when the desk has driven it.
import { once } from 'node:events'
import { request } from 'node:http'

const { CONFORMANCE_DESK: desk, ...env } = process.env
const scenario = {
  name: env.MCP_CONFORMANCE_SCENARIO,
  revision: env.MCP_CONFORMANCE_PROTOCOL_VERSION,
  context: JSON.parse(env.MCP_CONFORMANCE_CONTEXT ?? '{}'),
  url: process.argv.at(-1),
}

const outgoing = request(desk, { method: 'POST' })
outgoing.end(JSON.stringify(scenario))
const [answer] = await once(outgoing, 'response')
answer.pipe(process.stderr)
await once(answer, 'end')
process.exitCode = answer.statusCode === 200 ? 0 : 1
