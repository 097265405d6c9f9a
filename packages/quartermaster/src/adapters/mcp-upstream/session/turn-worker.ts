export interface TurnWorkerOptions<Item> {
  /** What takes longer than a turn says when it is done; what comes behind it waits until then. */
  handle(item: Item): undefined | Promise<void>
  /** There is more than can be done now: nothing more is to be brought. */
  onBusy(): void
  /** Everything is done. */
  onIdle(): void
}

/** Works through what it is given, in turns that leave time for everybody else. */
export interface TurnWorker<Item> {
  add(items: readonly Item[]): void
  /** Forgets what is left. */
  stop(): void
}

/** What one turn of the event loop may take. */
const TURN_MS = 5
const TURN_ITEMS = 256
/** So little counts for the next turn too: to be told when the event loop comes round costs more than a short message. */
const LITTLE_MS = 1
const LITTLE_ITEMS = 16

export function createTurnWorker<Item>({ handle, onBusy, onIdle }: TurnWorkerOptions<Item>): TurnWorker<Item> {
  let items: Item[] = []
  let next = 0
  let turn: Turn = { workedMs: 0, handled: 0 }
  let isEnding = false
  let isResting = false
  let isWorking = false

  /** What is brought by what is being done has its turn behind the rest. */
  function begin(): void {
    if (isResting || isWorking) return
    isWorking = true
    try {
      work()
    } finally {
      isWorking = false
    }
    // Who hears that everything is done may bring more at once.
    if (next < items.length) begin()
  }

  function work(): void {
    const begunAt = performance.now()
    const before = turn.workedMs
    while (next < items.length) {
      turn.workedMs = before + performance.now() - begunAt
      if (turn.handled >= TURN_ITEMS || turn.workedMs >= TURN_MS) return rest(turn.workedMs)
      turn.handled++
      const doing = handle(items[next++] as Item)
      if (doing) return awaitEnd(doing)
    }
    turn.workedMs = before + performance.now() - begunAt
    if (turn.handled >= LITTLE_ITEMS || turn.workedMs >= LITTLE_MS) endWithLoop()
    forget()
    onIdle()
  }

  /** A turn lasts until the event loop comes round: things may be brought several times in one. */
  function endWithLoop(): void {
    if (isEnding) return
    isEnding = true
    setImmediate(() => {
      isEnding = false
      if (!isResting) turn = { workedMs: 0, handled: 0 }
    })
  }

  /** Rests as long as it has worked, so that a flood takes half of our time at most. */
  function rest(ms: number): void {
    isResting = true
    onBusy()
    // A timer that is set while another goes off may go off in the same round, before anybody else has had a turn.
    setTimeout(() => setImmediate(goOn), ms)
  }

  function awaitEnd(doing: Promise<void>): void {
    isResting = true
    onBusy()
    // Whoever does it tells what went wrong with it; here it is over.
    void doing.then(goOn, goOn)
  }

  function goOn(): void {
    isResting = false
    turn = { workedMs: 0, handled: 0 }
    begin()
  }

  function forget(): void {
    items = []
    next = 0
  }

  return {
    add(more) {
      if (items.length === 0) items = [...more]
      else for (const item of more) items.push(item)
      begin()
    },
    stop: forget,
  }
}

/** What was done since the event loop last came round. */
interface Turn {
  workedMs: number
  handled: number
}
