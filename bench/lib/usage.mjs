// @ts-check

/** What was asked for cannot be measured. */
export class UsageError extends Error {}

/**
 * Says in a line what is wrong with how a benchmark was called; the exit code is 2. Anything else that fails is a fault of the
 * benchmark's own, and keeps its stack.
 * @param {() => Promise<void>} work
 */
export async function orSayUsage(work) {
  try {
    await work()
  } catch (error) {
    if (!isUsage(error)) throw error
    console.error(error.message)
    process.exitCode = 2
  }
}

/** @param {unknown} error @returns {error is Error} */
function isUsage(error) {
  if (error instanceof UsageError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}
