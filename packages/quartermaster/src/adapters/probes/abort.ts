/** The promise, or a rejection as soon as the signal aborts; for work that cannot be told to stop. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const release: { stop?: () => void } = {}
  const aborted = new Promise<never>((_resolve, reject) => {
    release.stop = onAbort(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    release.stop?.()
  }
}

/** Runs the task once the signal aborts, at once when it has already. Returns how to forget about it. */
export function onAbort(signal: AbortSignal, task: () => void): () => void {
  if (signal.aborted) task()
  else signal.addEventListener('abort', task, { once: true })
  return () => signal.removeEventListener('abort', task)
}
