import { expect, it } from 'vitest'
import { DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import { RemoteFailure } from '../../core/external-peers/index.ts'
import { openExternalPeers } from '../../testing/external-peer-fixture.ts'
import { peerFindings } from './doctor.ts'

it('says of an agent elsewhere why it cannot be reached, since when, what waits for it and what to do', async () => {
  const { adaAndPainter, add, ask, another, peers, remote, clock, settle } = await openExternalPeers()
  const findings = () => peerFindings({ peers: async () => peers, storeAnswers: async () => true })
  expect(await findings()).toEqual([])
  const { ada, painter } = await adaAndPainter()
  await add({ name: 'potter' })
  const reachedAt = new Date(clock.now()).toISOString()
  expect(await findings()).toEqual([{ level: 'ok', what: 'External peers: painter, potter.' }])
  remote.fails(new RemoteFailure('unreachable', 'Nothing listens at there.example.'))
  another().start()
  await ask(ada, painter)
  await clock.advance(60_000)
  await settle()
  await peers.refresh(DEFAULT_ORGANISATION, 'painter')
  expect(await findings()).toEqual([
    { level: 'ok', what: 'External peers: potter.' },
    {
      level: 'warning',
      what: `External peer "painter" has not been reached since ${reachedAt}: Nothing listens at there.example. One task waits for it.`,
      fix: 'Correct what is said here; it is tried again by itself, and at once with: quartermaster peers refresh painter',
    },
  ])
})

it('says nothing of them where nobody looks at them, or while the store is away', async () => {
  const peers = () => expect.fail('The store was asked.')
  expect(await peerFindings({ peers })).toEqual([])
  expect(await peerFindings({ peers, storeAnswers: async () => false })).toEqual([])
})
