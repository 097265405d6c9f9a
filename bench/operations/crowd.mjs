// @ts-check

/** @typedef {{ latenciesUs: number[], perSecond: number, cpuUs: number }} Round */

/**
 * Does something so many times, so many of them at any moment; the processor time is that of each, all threads together.
 * @param {{ count: number, inFlight: number }} load
 * @param {(i: number) => unknown} work
 * @returns {Promise<Round>}
 */
export async function crowd({ count, inFlight }, work) {
  /** @type {number[]} */
  const latenciesUs = []
  let next = 0
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const worker = async () => {
    for (let i = next++; i < count; i = next++) {
      const begunAt = performance.now()
      await work(i)
      latenciesUs.push((performance.now() - begunAt) * 1_000)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const seconds = (performance.now() - startedAt) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  return { latenciesUs, perSecond: count / seconds, cpuUs: (user + system) / count }
}
