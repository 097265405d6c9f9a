/** One at a time: two changes made at once would otherwise take each other for someone else's. */
export function createQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return task => {
    const next = last.then(task, task)
    last = next.catch(() => undefined)
    return next
  }
}
