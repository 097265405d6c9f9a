import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeCheckout } from './testing/checkout.ts'

const START = 'scripts/start.mjs'

describe('npm start', () => {
  it('installs, builds and runs the example, with nothing of its own on standard output', async () => {
    const checkout = makeCheckout()
    const { code, stdout } = await checkout.run(START, ['--port', '0'])
    expect(JSON.parse(stdout)).toEqual({ args: ['up', '--port', '0'], cwd: join(checkout.root, 'examples', 'hello') })
    expect(code).toBe(3)
  })

  it.each([[['--config', 'my.json']], [['--data=here']]])('runs where it was called when told %j', async args => {
    const checkout = makeCheckout()
    const folder = join(checkout.root, 'packages')
    const { stdout } = await checkout.run(START, args, { INIT_CWD: folder })
    expect(JSON.parse(stdout)).toEqual({ args: ['up', ...args], cwd: folder })
  })

  it.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM'] as const)(
    'passes %s on and ends as the product ends',
    async signal => {
      const start = makeCheckout().start(START, ['--wait'])
      await expect.poll(() => start.stdout().includes('cwd'), { timeout: 10_000 }).toBeTruthy()
      start.kill(signal)
      const { code, stdout } = await start.finished
      expect(stdout).toContain(signal)
      expect(code).toBe(42)
    },
  )

  it('does not run anything when installing failed', async () => {
    const { code, stdout } = await makeCheckout().run(START, [], { NPM: 'fails' })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
  })
})
