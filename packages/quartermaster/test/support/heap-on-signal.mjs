// Loaded into a process whose memory is to be measured: on SIGUSR2 it collects what is garbage and appends what is left, in
// bytes, and how many things keep it running, as a line to the file that HEAP_FILE names.
import { appendFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const file = process.env.HEAP_FILE
if (file) {
  // The map of a file's sources is read with the first stack of an error in it, whenever that is. It takes megabytes, is made
  // once, and would stand for what was left behind.
  process.setSourceMapsEnabled = () => {}
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  process.on('SIGUSR2', async () => {
    // What finalizers let go of is garbage only in the next round.
    for (let round = 0; round < 3; round++) {
      collect()
      await new Promise(resolve => setImmediate(resolve))
    }
    appendFileSync(file, `${process.memoryUsage().heapUsed} ${process.getActiveResourcesInfo().length}\n`)
  })
}
