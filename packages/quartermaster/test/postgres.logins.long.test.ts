import { describe, expect, it } from 'vitest'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { oauthPlace } from '../src/adapters/mcp-upstream/testing/oauth-fixture.ts'
import type { LoginFacts, UpstreamStatus } from '../src/contracts/index.ts'
import { hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { createLeanClient } from './support/lean-client.ts'
import { letsIn, type Node, nodesOn } from './support/nodes.ts'

/** Two nodes on one database, which have the same server behind them. */
async function twoNodes() {
  const place = await oauthPlace({ serve: visit => answerLegacy(visit) })
  const start = nodesOn(await testDatabase())
  const files = {
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker: { url: place.upstream.url } } }),
    'agents/default.json': '{ "capabilities": { "tracker": {} } }',
  }
  const here = await start({ files })
  return { place, here, there: await start({ files }) }
}

async function reaches(nodes: readonly Node[], state: string): Promise<void> {
  for (const node of nodes)
    await expect.poll(() => node.control<UpstreamStatus[]>('upstreams')).toMatchObject([{ state }])
}

const callAt = ({ up }: Node, token: string) => {
  const client = createLeanClient(up.url, token)
  return client.call('tracker_count', {}).finally(client.close)
}

describe.runIf(hasPostgres())('two nodes on one database', () => {
  it('share one login at a server, follow sign-in and sign-out, and renew it once', async () => {
    const { place, here, there } = await twoNodes()
    await reaches([here, there], 'needsLogin')
    const { attempt, url } = await here.control<{ attempt: string; url: string }>('beginLogin', { upstream: 'tracker' })
    const redirectUrl = place.approve(url)
    expect(await here.control<LoginFacts>('finishLogin', { attempt, redirectUrl })).toMatchObject({ renewable: true })
    await reaches([here, there], 'up')

    const { token } = await here.control<{ token: string }>('createToken', { agent: 'default' })
    for (const node of [here, there]) await expect.poll(() => letsIn(node, token)).toBe(true)
    place.accept('nothing that was given out')
    expect(await Promise.all([here, there].map(node => callAt(node, token)))).toEqual(
      Array(2).fill(expect.stringContaining('3 issues')),
    )
    expect(place.tokenRequests.map(form => form.get('grant_type'))).toEqual(['authorization_code', 'refresh_token'])

    await there.control('logout', { upstream: 'tracker' })
    await reaches([here, there], 'needsLogin')
  })
})
