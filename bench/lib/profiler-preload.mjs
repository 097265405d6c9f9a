// @ts-check
// Loaded into a process before its own code: takes a CPU profile from one message of the parent to the next.
import { writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { isMainThread } from 'node:worker_threads'

/** Short beside a call of a tenth of a millisecond, long enough to leave the process its time. */
const SAMPLING_US = 200

const session = new Session()

async function start() {
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_US })
  await session.post('Profiler.start')
}

/** @param {string} file */
async function stop(file) {
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  await writeFile(file, JSON.stringify(profile))
}

// The worker threads of a process load this too, and have no parent to listen to.
if (isMainThread && process.send) {
  process.on('message', async message => {
    const { file } = /** @type {{ file?: string }} */ (message)
    await (file === undefined ? start() : stop(file))
    process.send?.('done')
  })
  // A process that is profiled ends when it would have ended.
  process.channel?.unref()
}
