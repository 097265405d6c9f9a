import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createLimit, type Limit } from '../../../packages/quartermaster/src/core/kernel/index.ts'
import { type RunningProduct, startWithAgents } from '../../support/running-product.ts'
import { type Drive, drive, type Scenario } from './drive.ts'

/** More would wait for the processor, and what a scenario says about time would be about the machine. */
const AT_A_TIME = 3

/** A running product, and where drivers bring the scenarios for it. */
export interface Desk {
  readonly url: string
  stop(): Promise<void>
}

/** Starts a product that takes these scenarios; each gets an upstream and an agent of its own, and others get nothing. */
export async function openFixture(scenarios: readonly string[]): Promise<Desk> {
  const keys = new Map(scenarios.map((scenario, index) => [scenario, `s${index}`]))
  const product = await startWithAgents([...keys.values()])
  const takeTurn = createLimit(AT_A_TIME)
  const edit = createLimit(1)

  async function answer(scenario: Scenario): Promise<{ status: number; said: string }> {
    const key = keys.get(scenario.name)
    // Extensions that we do not have.
    if (key === undefined) return { status: 500, said: 'Nobody drives this scenario.' }
    const said: string[] = []
    const tell = (line: string) => void said.push(line)
    try {
      await takeTurn(() => driveOn(product, { scenario, key, tell, edit }))
      return { status: 200, said: said.join('\n') }
    } catch (error) {
      return { status: 500, said: [...said, String(error)].join('\n') }
    }
  }

  const server = createServer(async (incoming, outgoing) => {
    const { status, said } = await answer(JSON.parse(await text(incoming)))
    outgoing.writeHead(status).end(`${said}\n`)
  })
  // A scenario that waits for its turn is silent for long.
  server.requestTimeout = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await product.stop()
    },
  }
}

const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json'

/** Mounts the scenario's server, does what the scenario wants, and takes the server away again. */
async function driveOn(
  product: RunningProduct,
  { edit, ...task }: Pick<Drive, 'scenario' | 'key' | 'tell'> & { edit: Limit },
): Promise<void> {
  const { control, mcpUrl } = product
  const { scenario, key } = task
  const { client_id: clientId, client_secret: clientSecret } = scenario.context
  const oauth = clientId ? { clientId, clientSecret } : { clientMetadataUrl: CLIENT_DOCUMENT }
  const entry = { url: scenario.url, oauth, newTools: 'offer', findings: 'allow' }
  // One after the other: each writes the same file.
  await edit(() => control.addUpstream({ name: key, entry, grant: [key], wait: false }))
  try {
    await drive({ ...task, control, mcpUrl })
  } finally {
    await edit(() => control.removeUpstream({ name: key }))
  }
}
