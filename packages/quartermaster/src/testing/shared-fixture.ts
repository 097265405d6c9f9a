import { beforeAll, onTestFinished } from 'vitest'

type End = () => unknown

/** What ends the fixture that is being opened for a whole `describe` block. */
let shared: End[] | undefined

/** Runs this when the test is over, or all tests of the block, if the fixture is shared by them. */
export function onEnd(end: End): void {
  if (shared) shared.push(end)
  else onTestFinished(async () => void (await end()))
}

/** Opens one fixture for all tests of this `describe` block or file. */
export function sharedFixture<T>(open: () => Promise<T>): () => T {
  let opened: { readonly fixture: T } | undefined
  beforeAll(async () => {
    const ends: End[] = []
    const endAll = async () => {
      for (const end of ends.toReversed()) await end()
    }
    shared = ends
    try {
      opened = { fixture: await open() }
    } catch (error) {
      await endAll()
      throw error
    } finally {
      shared = undefined
    }
    return endAll
  })
  return () => {
    if (!opened) throw new Error('A shared fixture can be used by tests only.')
    return opened.fixture
  }
}
