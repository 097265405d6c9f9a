export interface TurnWorkerOptions<Item> {
  handle(item: Item): void
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

export function createTurnWorker<Item>({ handle, onBusy, onIdle }: TurnWorkerOptions<Item>): TurnWorker<Item> {
  let items: Item[] = []
  let next = 0
  let turn: Turn | undefined
  let isResting = false

  function work(): void {
    if (isResting) return
    turn ??= beginTurn()
    while (next < items.length) {
      if (turn.isOver()) return rest(turn)
      handle(items[next++] as Item)
    }
    forget()
    onIdle()
  }

  /** A turn lasts until the event loop comes round: things may be brought several times in one. */
  function beginTurn(): Turn {
    setImmediate(() => {
      turn = undefined
    })
    return createTurn()
  }

  /** Rests as long as it has worked, so that a flood takes half of our time at most. */
  function rest({ worked }: Turn): void {
    isResting = true
    onBusy()
    setTimeout(() => {
      isResting = false
      work()
    }, worked())
  }

  function forget(): void {
    items = []
    next = 0
  }

  return {
    add(more) {
      if (items.length === 0) items = [...more]
      else for (const item of more) items.push(item)
      work()
    },
    stop: forget,
  }
}

interface Turn {
  isOver(): boolean
  worked(): number
}

function createTurn(): Turn {
  const begun = performance.now()
  let handled = 0
  const worked = () => performance.now() - begun
  return { isOver: () => handled++ >= TURN_ITEMS || worked() >= TURN_MS, worked }
}
