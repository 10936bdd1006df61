(* outer -> middle -> leaf; with "effects" the chain runs below a handler, on a fiber of its own. chain [effects] SECONDS *)
open Effect
open Effect.Deep

type _ Effect.t += Ask : int -> int Effect.t

let[@inline never] leaf n =
  let s = ref n in
  for i = 0 to 200_000 do
    s := (!s * 31 + i) mod 1_000_003
  done;
  !s

let[@inline never] middle n = leaf n + 1

let[@inline never] outer finish asks =
  let t = ref 0 in
  while Unix.gettimeofday () < finish do
    t := !t + middle (!t mod 7);
    if asks then t := !t + perform (Ask !t)
  done;
  !t

let () =
  let n = Array.length Sys.argv in
  let finish = Unix.gettimeofday () +. float_of_string Sys.argv.(n - 1) in
  let r =
    if n > 2 then
      match_with (fun () -> outer finish true) ()
        { retc = (fun r -> r); exnc = raise;
          effc = (fun (type a) (e : a Effect.t) ->
            match e with
            | Ask x -> Some (fun (k : (a, _) continuation) -> continue k (x land 1))
            | _ -> None) }
    else outer finish false
  in
  print_int (r + 1)
