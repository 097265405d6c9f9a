import { expect, it } from 'vitest'
import { openFixture, startHttpServer } from './support/upstream-fixture.ts'

it('tells in its table what to fix: a key that was refused, a program that never said anything', async () => {
  const { url } = await startHttpServer('--token=right')
  const fixture = await openFixture({
    mcpServers: {
      locked: { url, headers: { Authorization: 'Bearer wrong' } },
      absent: { command: 'no-such-program-anywhere' },
    },
  })
  await expect.poll(async () => (await fixture.status('locked'))?.state).toBe('keyRefused')
  await expect.poll(async () => (await fixture.status('absent'))?.lastError).toBeDefined()
  const { stdout } = await fixture.run('upstreams')
  expect(stdout).toMatch(/^locked +key refused /m)
  const locked = await fixture.run('upstreams', 'show', 'locked')
  expect(locked.stdout.replace(/\s+/g, ' ')).toContain('Change "headers.Authorization" in its entry')
  expect(`${stdout}${locked.stdout}`).not.toMatch(/quartermaster (login|logs)|wrong/)
})
