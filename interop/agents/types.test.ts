import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { complaintsOfCompiler } from '../support/compiles.ts'

it('agrees with the types of the agents it drives', async () => {
  expect(await complaintsOfCompiler(fileURLToPath(new URL('.', import.meta.url)))).toBe('')
})
