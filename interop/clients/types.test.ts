import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { complaintsOfCompiler } from '../support/compiles.ts'

// The product's sources are checked with everything else; here the types of its build stand for them.
it('agrees with the types of the packages it drives', async () => {
  expect(await complaintsOfCompiler(fileURLToPath(new URL('..', import.meta.url)))).toBe('')
})
