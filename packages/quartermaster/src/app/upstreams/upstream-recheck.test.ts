import { expect, it } from 'vitest'
import type { UpstreamStatus } from '../../contracts/index.ts'
import { createHub, fakeService, simpleCapability } from '../../testing/hub.ts'
import { recheckWithUpstreams } from './upstream-status.ts'

const WAIT = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'

/** What is answered where a server stands so that health takes for up, for an `up` or for one command. */
async function answerOf(status: Partial<UpstreamStatus>, from: 'up' | 'process' = 'process') {
  const { dependency } = fakeService('upstream-notes')
  const capabilities = [simpleCapability('notes', [], { unseen: 'It has not been reached yet.' })]
  const core = await createHub({ units: { 'upstream:notes': { capabilities, dependencies: [dependency] } } })
  await core.health.probeNew()
  const upstreams = { statuses: () => [{ name: 'notes', ...status } as UpstreamStatus] }
  const asked = { name: 'capability:notes', force: false, from }
  return { answer: await recheckWithUpstreams({ core, upstreams }, asked, core.clock), now: core.clock.now() }
}

it.each(['up', 'process'] as const)('does not say that all is there of a server nobody has heard: %s', async from => {
  const starting = { state: 'starting' as const, reason: 'It has not answered yet.', unseen: WAIT }
  const { answer, now } = await answerOf(starting, from)
  expect(answer).toMatchObject({
    active: false,
    missing: [{ dependency: 'upstream-notes', state: 'unknown', nextRecheckAt: now, fix: WAIT }],
    nextRecheckAt: now,
  })
})

it('says that all is there of one that is', async () => {
  expect((await answerOf({ state: 'up' })).answer).toEqual({ active: true, missing: [], probed: [] })
})
