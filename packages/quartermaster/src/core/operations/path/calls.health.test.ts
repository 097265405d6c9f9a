import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { DOWN, failureOf, fakeService, simpleTool, UP } from '../../../testing/hub.ts'
import { workerHub } from '../../../testing/worker-hub.ts'

describe('health', () => {
  it('rechecks a disabled tool and runs it when it is back', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await workerHub([simpleTool('send', { requires: ['mail'] })], { dependencies: [mail] })
    await hub.health.probeNew()
    mail.verdict = UP
    expect((await hub.callAs('worker', 'send')).result.content).toEqual([{ type: 'text', text: 'send' }])
  })

  it('refuses a tool that stays disabled with every reason, age and next recheck', async () => {
    const mail = fakeService('mail', DOWN, { fix: 'Start it with `mailctl up`.' })
    const hub = await workerHub([simpleTool('send', { requires: ['mail'] })], { dependencies: [mail] })
    await hub.health.probeNew()
    await hub.clock.advance(5_000)
    await expect(hub.callAs('worker', 'send')).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('connection refused'),
      details: {
        missing: [
          {
            dependency: 'mail',
            state: 'down',
            ageMs: 5_000,
            nextRecheckAt: hub.clock.now() + 30_000,
            fix: 'Start it with `mailctl up`.',
          },
        ],
      },
    })
  })

  it('waits for a dependency that is recovering', async () => {
    const mail = fakeService('mail', UP)
    const hub = await workerHub([simpleTool('send', { requires: ['mail'] })], { dependencies: [mail] })
    await hub.health.probeNew()
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    const call = hub.callAs('worker', 'send')
    await hub.clock.advance(400)
    expect(hub.audit).toEqual([])
    mail.verdict = UP
    await hub.clock.advance(1_000)
    expect((await call).result.content).toEqual([{ type: 'text', text: 'send' }])
  })

  it('stops waiting when it is down permanently', async () => {
    const mail = fakeService('mail', UP)
    const hub = await workerHub([simpleTool('send', { requires: ['mail'] })], { dependencies: [mail] })
    await hub.health.probeNew()
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    const ended = failureOf(hub.callAs('worker', 'send'))
    await hub.clock.advance(11_000)
    expect(await ended).toMatchObject({ code: 'TOOL_DISABLED' })
  })

  it.each([
    [
      'moves a dependency to recovering when a real call says that it failed',
      {},
      { state: 'recovering', reason: 'The mail server hung up.' },
    ],
    ['leaves one as it is that asks to be come back to later', { retryAfterMs: 3_600_000 }, { state: 'up' }],
  ])('%s', async (_, more, record) => {
    const mail = fakeService('mail', UP)
    const handler = () => {
      const details = { dependency: 'mail', ...more }
      throw new AppError('DEPENDENCY_UNAVAILABLE', 'The mail server hung up.', { details })
    }
    const hub = await workerHub([simpleTool('send', { requires: ['mail'], handler })], { dependencies: [mail] })
    await hub.health.probeNew()
    await expect(hub.callAs('worker', 'send')).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(hub.health.dependency('mail')).toMatchObject(record)
  })

  it('runs a disabled tool anyway when told to', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await workerHub([simpleTool('send', { requires: ['mail'] })], { dependencies: [mail] })
    await hub.health.probeNew()
    const answer = await hub.callAs('worker', 'send', {}, { whenDisabled: 'run' })
    expect(answer.result.isError).toBeUndefined()
  })
})
