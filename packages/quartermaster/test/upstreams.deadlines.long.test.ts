import { expect, it } from 'vitest'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import type { UpstreamStatus } from '../src/contracts/index.ts'
import { ILL_SERVER, openFixture, program } from './support/upstream-fixture.ts'

const LATE = 'It was not ready within 1 s.'

it.each(['auto', 'legacy'])(
  'gives up a start that has not ended in its time, whatever it waits for (era: %s)',
  async era => {
    const silent = await httpEndpoint(() => {})
    const listless = await httpEndpoint(visit => {
      if (visit.body['method'] !== 'tools/list') answerLegacy(visit)
    })
    const limits = { era, startSeconds: 1 }
    const fixture = await openFixture({
      mcpServers: {
        'silent-program': { ...program(ILL_SERVER, '--hang'), ...limits },
        'listless-program': { ...program(ILL_SERVER, '--hang-on=tools/list'), ...limits },
        'silent-address': { url: silent.url, ...limits },
        'listless-address': { url: listless.url, ...limits },
      },
    })
    const reasons = async () =>
      Object.fromEntries(
        (await fixture.control<UpstreamStatus[]>('upstreams')).map(({ name, lastError }) => [name, lastError?.message]),
      )
    await expect.poll(reasons).toEqual({
      'silent-program': LATE,
      'listless-program': LATE,
      'silent-address': LATE,
      'listless-address': LATE,
    })
    await expect.poll(() => listless.visits.map(({ body }) => body['method'])).toContain('tools/list')
  },
)
