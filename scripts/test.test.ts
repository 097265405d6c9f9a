import { describe, expect, it } from 'vitest'
import { makeCheckout } from './testing/checkout.ts'

const TEST = 'scripts/test.mjs'
const QUICK = 'vitest run --project product --project alone --project clients'
const withoutNpm = (calls: readonly string[]) => calls.filter(call => !call.startsWith('npm'))

describe('npm test', () => {
  it('installs, builds, checks and runs the tests last', async () => {
    const checkout = makeCheckout()
    const { code, stdout } = await checkout.run(TEST)
    expect(code).toBe(0)
    expect(withoutNpm(checkout.calls())).toEqual(['biome check .', 'oxlint --deny-warnings', QUICK])
    expect(stdout).toMatch(/vitest is done\n$/)
  })

  it('runs only the tests it is given, without the checks', async () => {
    const checkout = makeCheckout()
    await checkout.run(TEST, ['scripts', '-t', 'a name'])
    expect(withoutNpm(checkout.calls())).toEqual(['vitest run scripts -t a name'])
  })

  it.each([
    ['biome', ['biome check .']],
    ['oxlint', ['biome check .', 'oxlint --deny-warnings']],
    ['vitest', ['biome check .', 'oxlint --deny-warnings', QUICK]],
  ])('stops where %s fails, with its exit code', async (failing, calls) => {
    const checkout = makeCheckout()
    expect((await checkout.run(TEST, [], { FAILING: failing })).code).toBe(5)
    expect(withoutNpm(checkout.calls())).toEqual(calls)
  })

  it('stops where the types are wrong, in tests as well', async () => {
    const checkout = makeCheckout()
    checkout.write('packages/quartermaster/src/wrong.test.ts', 'export const wrong: string = 5')
    const { code, stdout } = await checkout.run(TEST)
    expect(code).not.toBe(0)
    expect(stdout).toContain('wrong.test.ts')
    expect(withoutNpm(checkout.calls())).toEqual([])
  })
})
