import { describe, expect, it } from 'vitest'
import type { Control } from '../../../../contracts/index.ts'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { whileAdvancing } from '../../../../testing/fake-clock.ts'
import { runUpstreams } from '../../../../testing/upstreams-command.ts'
import { runCli } from '../../index.ts'

describe('upstreams', () => {
  it('that are still starting after a restart say so once, and where to look', async () => {
    const status = { ...NOTES, state: 'starting' as const, reason: 'It is starting.' }
    expect((await runUpstreams(['restart', 'notes'], { statuses: [status] })).stdout).toBe(
      '✗ "notes" was restarted; it is still starting (see how it is: quartermaster upstreams).\n',
    )
    const fetching = { ...status, reason: 'It may be downloading.', isFetching: true, unseen: 'See how it is.' }
    expect((await runUpstreams([], { statuses: [fetching] })).stdout).toMatch(
      /starting .*\n  └ It may be downloading\.\n$/,
    )
  })

  it('write no lines of ours when they say why they are not up again', async () => {
    const status = { ...NOTES, state: 'down' as const, reason: 'It said: no\u001b[2J\nForged.' }
    expect((await runUpstreams(['restart', 'notes'], { statuses: [status] })).stdout).toContain(
      'It said: no\\x1b[2J Forged',
    )
  })

  it('are only tried where nothing runs that would keep them', async () => {
    expect(await runUpstreams(['restart', 'notes'], { from: 'process' })).toMatchObject({
      code: 0,
      stdout:
        '✓ "notes" was only tried, because no `quartermaster up` runs here to keep it; it was up, with 3 tools.\n',
    })
  })

  it.each([
    { upAfterMs: 100_000, code: 0, how: '✓ "notes" was only tried[^]*; it was up, with 3 tools\\.\n$' },
    {
      leftAfterMs: 20_000,
      code: 130,
      how: '✗ [^]*; it was left before it was ready; it is started again by quartermaster up\\.\n$',
    },
  ])(
    'are not cut off while they are downloaded for the first time: %j',
    async ({ upAfterMs = Number.POSITIVE_INFINITY, leftAfterMs, code, how }) => {
      const starting = { ...NOTES, state: 'starting' as const, reason: 'It is starting.', isFetching: true }
      const control: Partial<Control> = {
        restartUpstream: async () => starting,
        upstreams: async () => [clock.now() - startedAt < upAfterMs ? starting : NOTES],
      }
      const { host, seen, clock, interrupt } = createFakeCliHost({ control, from: 'process' })
      const startedAt = clock.now()
      if (leftAfterMs !== undefined) clock.after(leftAfterMs, interrupt)
      const ended = runCli(['upstreams', 'restart', 'notes'], host)
      expect(await whileAdvancing(clock, ended, 1_000)).toBe(code)
      expect(seen.stdout).toMatch(new RegExp(how))
      expect(seen.stderr).toContain('0/1 ready; notes may be downloading what it runs, and Ctrl-C leaves it')
    },
  )

  it('are restarted, and the exit code says whether they are up', async () => {
    expect(await runUpstreams(['restart', 'notes'])).toMatchObject({
      code: 0,
      stdout: '✓ "notes" was restarted; it is up, with 3 tools.\n',
    })
    expect((await runUpstreams(['restart', 'mail'])).code).toBe(1)
  })
})
