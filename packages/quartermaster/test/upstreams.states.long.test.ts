import { expect, it } from 'vitest'
import { openFixture, startHttpServer } from './support/upstream-fixture.ts'

it('tells in its table what to fix: a key that was refused, a program that never said anything', {
  timeout: 60_000,
}, async () => {
  const { url } = await startHttpServer('--token=right')
  const desk = await openFixture({
    mcpServers: {
      locked: { url, headers: { Authorization: 'Bearer wrong' } },
      absent: { command: 'no-such-program-anywhere' },
    },
  })
  await expect.poll(async () => (await desk.status('locked'))?.state, { timeout: 15_000 }).toBe('keyRefused')
  await expect.poll(async () => (await desk.status('absent'))?.lastError, { timeout: 15_000 }).toBeDefined()
  const { stdout } = await desk.run('upstreams')
  expect(stdout).toMatch(/^locked +key refused /m)
  const locked = await desk.run('upstreams', 'show', 'locked')
  expect(locked.stdout.replace(/\s+/g, ' ')).toContain('Change "headers.Authorization" in its entry')
  expect(`${stdout}${locked.stdout}`).not.toMatch(/quartermaster (login|logs)|wrong/)
})
