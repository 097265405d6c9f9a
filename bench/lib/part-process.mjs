// @ts-check
// The process of one part: it is told which, measures, and answers with figures.

// `on`, not `once`: the listener is what keeps the process here, because the timers of a core never do.
process.on('message', async message => {
  const { file, options } = /** @type {{ file: string, options: object }} */ (message)
  const { run } = await import(file)
  process.send?.(await run(options))
  process.off('disconnect', leave)
  process.disconnect()
})

// Whoever asked is gone: what was started here ends with this process.
const leave = () => process.exit(1)
process.on('disconnect', leave)
process.on('SIGTERM', leave)
